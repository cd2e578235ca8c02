CREATE NODE TABLE `Person` (`email` STRING,`name` STRING,`age` INT64,`height` DOUBLE,`small` INT16,`big` UINT64,`active` BOOL,`born` DATE,`seen` TIMESTAMP,`tags` STRING[],`scores` DOUBLE[],`face` FLOAT[3],`photo` BLOB,`uid` UUID,`address` STRUCT(city STRING, zip INT64), PRIMARY KEY(`email`));
CREATE NODE TABLE `City` (`id` SERIAL,`Full Name` STRING, PRIMARY KEY(`id`));
CREATE REL TABLE `Knows` (FROM `Person` TO `Person`, `since` DATE,`note` STRING,MANY_MANY);
CREATE REL TABLE `LivesIn` (FROM `Person` TO `City`, `weight` FLOAT,MANY_ONE);
CREATE REL TABLE `MENTIONS` (FROM `Person` TO `City`, FROM `City` TO `City`, FROM `City` TO `Person`, MANY_MANY);
DROP SEQUENCE IF EXISTS `City_id_serial`;
CREATE SEQUENCE IF NOT EXISTS `City_id_serial` START 1 INCREMENT 1 MINVALUE 0 MAXVALUE 9223372036854775807 NO CYCLE;
RETURN nextval('City_id_serial');

COPY `Person` (`email`,`name`,`age`,`height`,`small`,`big`,`active`,`born`,`seen`,`tags`,`scores`,`face`,`photo`,`uid`,`address`) FROM "Person.csv" (header=true, parallel=false);
COPY `City` (`id`,`Full Name`) FROM "City.csv" (header=true, parallel=true);
COPY `Knows` (`since`,`note`) FROM "Knows_Person_Person.csv" (to='Person', from='Person', header=true, parallel=true);
COPY `LivesIn` (`weight`) FROM "LivesIn_Person_City.csv" (to='City', from='Person', header=true, parallel=true);
COPY `MENTIONS` FROM "MENTIONS_Person_City.csv" (to='City', from='Person', header=true, parallel=true);
COPY `MENTIONS` FROM "MENTIONS_City_City.csv" (to='City', from='City', header=true, parallel=true);
COPY `MENTIONS` FROM "MENTIONS_City_Person.csv" (to='Person', from='City', header=true, parallel=true);

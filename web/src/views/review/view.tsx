/** What a branch would change, and its merge. Without a branch: all branches. */
import { place } from "../../app/route";
import { Branches } from "./branches";
import { ReviewPage } from "./page";
import "./style.css";

export default function ReviewView() {
  const { source, into } = place.value.params;
  return source === undefined ? <Branches /> : <ReviewPage key={`${source}|${into}`} source={source} into={into ?? "main"} />;
}

import { render } from "preact";
import { Frame } from "./app/frame";
import "./style.css";

render(<Frame />, document.getElementById("page")!);

// One shape per standing, so that colour is never the only sign.

import type { Standing } from "../model/state";
import { svg } from "./element";

const paths: Record<Standing, string> = {
  free: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11Zm0 2a3.5 3.5 0 1 1 0 7 3.5 3.5 0 0 1 0-7Z",
  reserved: "M4 2.5h8v2L9.2 8 12 11.5v2H4v-2L6.8 8 4 4.5Zm2.3 2L8 6.7l1.7-2.2ZM8 9.3l-1.7 2.2h3.4Z",
  leased: "M4 7V5.5a4 4 0 0 1 8 0V7h1v7H3V7Zm2 0h4V5.5a2 2 0 0 0-4 0Z",
  busy: "M4 2.5 13.5 8 4 13.5Z",
  held: "M4 3h3v10H4Zm5 0h3v10H9Z",
  broken: "m3 4.4 1.4-1.4L8 6.6 11.6 3 13 4.4 9.4 8l3.6 3.6-1.4 1.4L8 9.4 4.4 13 3 11.6 6.6 8Z",
  unknown:
    "M5 6a3 3 0 1 1 4.2 2.75c-.2.1-.2.2-.2.5V10H7V9c0-1 .5-1.6 1.4-2A1 1 0 1 0 7 6ZM7 11.5h2v2H7Z",
  divided: "M2.5 2.5h5v5h-5Zm6 0h5v5h-5Zm-6 6h5v5h-5Zm6 0h5v5h-5Z",
};

export function shape_of(standing: Standing): SVGSVGElement {
  return svg(
    "svg",
    { class: "shape", viewBox: "0 0 16 16", "aria-hidden": "true" },
    svg("path", { d: paths[standing], "fill-rule": "evenodd" }),
  );
}

export function change_shape(shape: SVGSVGElement, standing: Standing): void {
  const path = shape.firstElementChild!;
  if (path.getAttribute("d") !== paths[standing]) path.setAttribute("d", paths[standing]);
}

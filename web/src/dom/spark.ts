// A small curve without an axis: the newest value stands at the right. Where nothing was read, nothing is drawn.

import { set_attribute, svg } from "./element";
import type { Column } from "../model/series";

export class Spark {
  private readonly path = svg("path", {});
  readonly root: SVGSVGElement;

  /// `places`: how many values wide it is.
  constructor(private readonly places: number) {
    this.root = svg(
      "svg",
      {
        class: "spark",
        viewBox: `0 0 ${places} 24`,
        preserveAspectRatio: "none",
        "aria-hidden": "true",
      },
      this.path,
    );
  }

  /// Percent; of more than there are places the last ones.
  show(values: Column): void {
    set_attribute(this.path, "d", spark_path(values, this.places));
  }
}

export function spark_path(values: Column, places: number): string {
  const start = Math.max(0, values.length - places);
  const shift = places - (values.length - start);
  let path = "";
  let open = -1;
  for (let i = start; i <= values.length; ++i) {
    const value = i < values.length ? values[i]! : null;
    const x = i - start + shift;
    if (value === null) {
      if (open >= 0) path += `V24H${open}Z`;
      open = -1;
    } else {
      const y = (24 - 0.23 * value).toFixed(1);
      path += open < 0 ? `M${x} ${y}` : `L${x} ${y}`;
      if (open < 0) open = x;
    }
  }
  return path;
}

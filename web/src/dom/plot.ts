// uPlot, run when the first chart is drawn and not before. It asks the browser how numbers and zones are written. That
// takes a third of the script's time to the first picture.

import type UPlot from "uplot";

// The bundler's `require`: a package that is required in a function runs when that function is called. Required so, it
// gives its CommonJS form, which is the class itself.
declare const require: (name: "uplot") => typeof UPlot;

export function new_plot(
  options: UPlot.Options,
  columns: UPlot.AlignedData,
  box: HTMLElement,
): UPlot {
  return new (require("uplot"))(options, columns, box);
}

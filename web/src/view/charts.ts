// The charts of a device's readings, as a GPU's panel and a run's page both show them.

import { Chart, type ChartOptions } from "../dom/chart";
import { look_of, type Metric } from "../model/series";
import { t } from "../words/translate";

export function chart_of(
  metric: Metric,
  more: Omit<ChartOptions, "title" | "format" | "colour" | "top" | "steps">,
): Chart {
  const { colour, format, steps } = look_of(metric);
  const top = metric === "utilization_gpu_percent" ? 100 : null;
  return new Chart({ title: t(`metric.${metric}`), top, colour, format, steps, ...more });
}

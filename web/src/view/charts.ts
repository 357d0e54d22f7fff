// The charts of a device's readings, as a GPU's panel and a run's page both show them.

import { Chart, type ChartOptions } from "../dom/chart";
import { celsius, gib_axis, gib_steps, percent, watts } from "../model/format";
import type { Metric } from "../model/series";
import { t } from "../words/translate";

type Look = Pick<ChartOptions, "colour" | "format" | "steps">;
export const looks: Record<Metric, Look> = {
  utilization_gpu_percent: { colour: "--chart-load", format: percent },
  memory_used_bytes: { colour: "--chart-memory", format: gib_axis, steps: gib_steps },
  power_draw_milliwatts: { colour: "--chart-power", format: watts },
  temperature_celsius: { colour: "--chart-heat", format: celsius },
};

export function chart_of(
  metric: Metric,
  more: Pick<ChartOptions, "height" | "sync" | "on_cursor">,
): Chart {
  const top = metric === "utilization_gpu_percent" ? 100 : null;
  return new Chart({ title: t(`metric.${metric}`), top, ...looks[metric], ...more });
}

#include "view/history_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>
#include <utility>

#include "base/aggregate.h"
#include "base/text.h"
#include "base/tr.h"
#include "health/xid.h"
#include "snapshot/fields.h"
#include "view/table.h"
#include "view/values.h"

namespace berth {

using history::Span;
using history::SpanKind;

std::string device_word(const HistoryFacts& facts, const DeviceId& id, const Style& style) {
  for (const HistoryDevice& device : facts.devices) {
    if (device.id == id && device.index && !device.parent) return std::to_string(*device.index);
  }
  return id.text().empty() ? std::string(absent_mark(style))
                           : cut_to_width(outside(id.text(), style), 12, !style.utf8);
}

std::string simulated_line(const HistoryFacts& facts, const Style& style) {
  if (!facts.simulated) return {};
  return Line(style)
      .add("SIMULATED (" + outside(*facts.simulated, style) + ")", Paint::yellow)
      .text();
}

static constexpr auto metric_words = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"utilization_gpu_percent", "Utilisation"},
    {"memory_used_bytes", "Memory"},
    {"power_draw_milliwatts", "Power"},
    {"temperature_celsius", "Temperature"},
    {"clock_sm_megahertz", "SM clock"},
    {"energy_millijoules", "Power by the energy counter"},
    {"pcie_sent_bytes", "PCIe sent"},
    {"pcie_received_bytes", "PCIe received"},
    {"nvlink_sent_rate_bytes_per_second", "NVLink sent"},
    {"nvlink_received_rate_bytes_per_second", "NVLink received"},
    {"activity_sm_percent", "SM activity"},
    {"activity_tensor_percent", "Tensor activity"},
    {"activity_dram_percent", "Memory activity"},
});

std::string_view title_of_metric(std::string_view key) {
  const auto* found =
      std::ranges::find(metric_words, key, [](const auto& row) { return row.first; });
  if (found != metric_words.end()) return found->second;
  const Field* field = find_field(key);
  return field != nullptr ? field->header : key;
}

namespace {

std::string number_text(double number, const std::string& unit, const Style& style) {
  const auto whole = static_cast<std::uint64_t>(std::llround(std::max(number, 0.0)));
  if (unit == "percent") return percent_text(Percent(number));
  if (unit == "bytes") return bytes_short(Bytes(whole));
  if (unit == "bytes/s") return bytes_short(Bytes(whole)) + "/s";
  if (unit == "milliwatts") return power_text(Milliwatts(whole));
  if (unit == "celsius") return temperature_text(Celsius(std::llround(number)), style);
  if (unit == "megahertz") return clock_text(Megahertz(whole));
  return fmt::format("{:.1f}", number);
}

/// All points together; its p95 is the highest of theirs.
struct Overall {
  Aggregate<> values;
  double p95 = 0;
};
std::optional<Overall> overall(const HistorySeries& series) {
  if (series.points.empty()) return std::nullopt;
  Overall all;
  for (const SeriesPoint& point : series.points) {
    all.values.add({point.samples, point.least, point.mean, point.most});
    all.p95 = std::max(all.p95, point.p95);
  }
  return all;
}

/// The means over the whole window.
std::vector<Reading<double>> columns_of(const HistorySeries& series, const HistoryView& view,
                                        int columns) {
  std::vector<Reading<double>> values;
  for (const Aggregate<>& one :
       in_columns(series, view.since, view.until, static_cast<std::size_t>(columns))) {
    values.push_back(one.is_empty() ? Reading<double>(Absent::not_sampled)
                                    : Reading<double>(one.mean()));
  }
  return values;
}

/// Of a full chart.
double top_of(const HistorySeries& series) {
  if (series.unit == "percent" || series.unit == "celsius") return 100.0;
  const auto all = overall(series);
  return all ? std::max(all->values.most(), 1.0) : 1.0;
}

/// A chart of several rows: the part of each value above and below a row's own is cut off.
std::string tall_chart(const HistorySeries& series, const HistoryView& view, const Style& style) {
  constexpr int rows = 4;
  constexpr int indent = 4;
  const int columns = std::clamp(style.width - 2 * indent, 10, 160);
  const double top = top_of(series);
  const auto values = columns_of(series, view, columns);
  std::string text;
  for (int row = rows; row > 0; --row) {
    std::vector<Reading<double>> part;
    for (const Reading<double>& value : values) {
      const bool is_there = value.get() && (row == 1 || *value.get() > top * (row - 1) / rows);
      if (!is_there) {
        part.emplace_back(Absent::not_sampled);
      } else {
        part.emplace_back(std::min(*value.get() - top * (row - 1) / rows, top / rows));
      }
    }
    text += Line(style)
                .space_to(indent)
                .add(sparkline(part, top / rows, columns, style), Paint::green)
                .text();
  }
  return text;
}

/// "≥" where all its points are lower bounds.
std::string_view mark_of(const HistorySeries& series, const HistoryView& view, const Style& style) {
  const auto device = std::ranges::find(view.devices, series.device, &HistoryDevice::id);
  const bool is_bound = device != view.devices.end() && device->used_is_bound;
  return is_bound && series.metric == "memory_used_bytes" ? bound_mark(style) : std::string_view();
}

std::string series_text(const HistorySeries& series, const HistoryView& view, const Style& style) {
  const auto all = overall(series);
  const std::string title = own(tr(title_of_metric(series.metric)), style);
  if (!all) {
    return Line(style).add("  " + title + "  ").add(own(tr("nothing is known"), style)).text();
  }
  const auto word = [&](double number) {
    return std::string(mark_of(series, view, style)) + number_text(number, series.unit, style);
  };
  const std::string numbers = own(trf("mean {}, 95 % up to {}, most {}", word(all->values.mean()),
                                      word(all->p95), word(all->values.most())),
                                  style);
  return Line(style).add("  " + title + "  ", Paint::bold).add(numbers).text() +
         tall_chart(series, view, style);
}

std::string heading(const HistoryView& view, const Style& style) {
  std::string text = simulated_line(view.facts, style);
  std::string window =
      trf("{} to {}", date_time_text(view.since, style), date_time_text(view.until, style));
  if (!view.facts.knows_since) {
    window += std::string(tr("; ")) + std::string(tr("there are no samples yet"));
  } else if (*view.facts.knows_since > view.since) {
    window += std::string(tr("; ")) +
              trf("known since {}", date_time_text(*view.facts.knows_since, style));
  }
  if (view.facts.last_sample && view.now.unix_ms - view.facts.last_sample->unix_ms > 60'000) {
    window += std::string(tr("; ")) + trf("the last sample is of {}: is `berth serve` running?",
                                          date_time_text(*view.facts.last_sample, style));
  }
  return text + wrapped("", own(window, style), 2, style, Paint::dim);
}

/// One line per device: a line of its utilisation, and the numbers.
std::string overview(const HistoryView& view, const Style& style) {
  const auto of = [&](const DeviceId& id, std::string_view metric) -> const HistorySeries* {
    for (const HistorySeries& series : view.series) {
      if (series.device == id && series.metric == metric) return &series;
    }
    return nullptr;
  };
  const std::string absent(absent_mark(style));
  const int columns = std::clamp(style.width - 58, 8, 80);
  static constexpr auto table_columns =
      std::to_array<TableColumn>({{.header = "GPU"},
                                  {.header = as_key("Name")},
                                  {.header = as_key("Utilisation")},
                                  {.header = as_key("mean"), .align = Align::right},
                                  {.header = "95 %", .align = Align::right},
                                  {.header = as_key("Memory"), .align = Align::right},
                                  {.header = as_key("Power"), .align = Align::right}});
  std::vector<TableRow> rows;
  for (const HistoryDevice& device : view.devices) {
    const auto number = [&](std::string_view metric, auto part) {
      const HistorySeries* series = of(device.id, metric);
      const auto all = series == nullptr ? std::nullopt : overall(*series);
      if (!all) return absent;
      return std::string(mark_of(*series, view, style)) +
             number_text(part(*all), series->unit, style);
    };
    const auto mean = [](const Overall& all) { return all.values.mean(); };
    const auto p95 = [](const Overall& all) { return all.p95; };
    const auto most = [](const Overall& all) { return all.values.most(); };
    const HistorySeries* busy = of(device.id, "utilization_gpu_percent");
    rows.push_back({device_word(view.facts, device.id, style),
                    cut_to_width(outside(device.name, style), 20, !style.utf8),
                    busy == nullptr
                        ? std::string()
                        : sparkline(columns_of(*busy, view, columns), 100, columns, style),
                    number("utilization_gpu_percent", mean), number("utilization_gpu_percent", p95),
                    number("memory_used_bytes", most), number("power_draw_milliwatts", mean)});
  }
  return Table(table_columns, std::move(rows), 2, style).text();
}

/// As many as one reads: leases and waits before users without one, the newest of them; by when
/// they began.
std::vector<Span> most_telling(std::vector<Span> spans) {
  constexpr std::size_t most_lines = 20;
  std::stable_sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    const bool a_is_user = a.kind == SpanKind::user;
    const bool b_is_user = b.kind == SpanKind::user;
    return std::tuple(a_is_user, -a.from_ms) < std::tuple(b_is_user, -b.from_ms);
  });
  if (spans.size() > most_lines) spans.resize(most_lines);
  std::stable_sort(spans.begin(), spans.end(),
                   [](const Span& a, const Span& b) { return a.from_ms < b.from_ms; });
  return spans;
}

std::string spans_text(const HistoryView& view, const Style& style) {
  if (view.spans.empty()) return {};
  const std::vector<Span> shown = most_telling(view.spans);
  const std::size_t left_out = view.spans.size() - shown.size();
  static constexpr auto table_columns =
      std::to_array<TableColumn>({{.header = as_key("From")},
                                  {.header = as_key("To")},
                                  {.header = as_key("For"), .align = Align::right},
                                  {.header = "GPU", .align = Align::right},
                                  {.header = as_key("User")},
                                  {.header = as_key("What"), .minimum = 8}});
  std::vector<TableRow> rows;
  for (const Span& span : shown) {
    const WallTime end{span.to_ms.value_or(view.now.unix_ms)};
    std::string what;
    if (span.kind == SpanKind::lease) {
      what = outside(span.run.empty() ? span.key : span.run, style) + "  ";
    } else if (span.kind == SpanKind::wait) {
      what = own(tr("waited for"), style) + " ";
    } else {
      what = own(tr("without a lease"), style) + "  ";
    }
    const std::string user =
        span.user.empty() ? std::string(absent_mark(style)) : outside(span.user, style);
    rows.push_back({since_text({span.from_ms}, view.now, style),
                    span.to_ms ? since_text(end, view.now, style) : own(tr("now"), style),
                    age_text({span.from_ms}, end), device_word(view.facts, span.device, style),
                    user, what + outside(span.title, style)});
  }
  std::string text = "\n";
  if (left_out > 0) {
    text += wrapped("", own(trf("({} more: --user, --gpu and --json show them)", left_out), style),
                    2, style, Paint::dim);
  }
  return text + Table(table_columns, std::move(rows), 2, style).text();
}

std::string events_text(const HistoryView& view, const Style& style) {
  std::string text;
  for (const HistoryEvent& event : view.events) {
    const std::string head =
        fmt::format("! {} GPU {} {} {}: ", since_text(event.at, view.now, style),
                    device_word(view.facts, event.device, style), outside(event.kind, style),
                    outside(event.code, style));
    text += wrapped("", head + outside(words_of(event).shown(), style), 2, style, Paint::yellow);
  }
  return text.empty() ? text : "\n" + text;
}

}  // namespace

Sentence words_of(const HistoryEvent& event) {
  if (event.kind != "xid" || !event.text.empty()) return Sentence(event.text);
  const auto code = parse_unsigned(event.code);
  return Sentence(code ? xid_facts(*code).meaning : event.text);
}

std::string_view advice_of(const HistoryEvent& event) {
  const auto code = event.kind == "xid" ? parse_unsigned(event.code) : std::nullopt;
  return code ? advice_for(xid_facts(*code).action) : std::string_view();
}

std::string render_history(const HistoryView& view, const Style& style) {
  std::string text = heading(view, style);
  std::set<std::string> metrics;
  for (const HistorySeries& series : view.series) metrics.insert(series.metric);
  const bool is_overview = view.devices.size() > 1 && metrics.size() != 1;
  // The devices' readings are everybody's: of one user there are none to be shown.
  const bool is_of_user = !view.user.empty() && view.series.empty();
  if (is_of_user) {
    if (view.spans.empty()) {
      text += wrapped("",
                      own(trf("{} had no device and waited for none, as far as is known.",
                              outside(view.user, style)),
                          style),
                      2, style);
    }
  } else if (is_overview) {
    text += overview(view, style);
  } else {
    for (const HistoryDevice& device : view.devices) {
      text += Line(style)
                  .add("GPU " + device_word(view.facts, device.id, style), Paint::bold)
                  .add("  " + outside(device.name, style) + "  " + outside(device.id.text(), style))
                  .text();
      for (const HistorySeries& series : view.series) {
        if (series.device == device.id) text += series_text(series, view, style);
      }
    }
  }
  std::uint64_t damaged = 0;
  for (const HistorySeries& series : view.series) damaged += series.damaged_blocks;
  if (damaged > 0) {
    text += warning_line(
        own(trf("{} blocks of the history are damaged and left out", damaged), style), style);
  }
  return text + spans_text(view, style) + events_text(view, style);
}

}  // namespace berth

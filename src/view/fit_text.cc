#include "view/fit_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_archive.h"
#include "base/text.h"
#include "base/tr.h"
#include "snapshot/device_name.h"
#include "view/status_rows.h"
#include "view/values.h"

namespace berth {

namespace {

constexpr std::size_t cards_shown = 6;

std::string_view part_words(MemoryPart part) {
  switch (part) {
    case MemoryPart::weights:
      return tr("weights");
    case MemoryPart::master_weights:
      return tr("FP32 master weights");
    case MemoryPart::adapters:
      return tr("adapters");
    case MemoryPart::gradients:
      return tr("gradients");
    case MemoryPart::optimizer:
      return tr("optimiser state");
    case MemoryPart::activations:
      return tr("activations");
    case MemoryPart::kv_cache:
      return tr("KV cache");
    case MemoryPart::buckets:
      return tr("gradient buckets");
    case MemoryPart::context:
      return tr("runtime's context");
    case MemoryPart::allocator:
      return tr("allocator");
  }
  return "";
}

std::string range_text(const ByteRange& range, const Style& style) {
  const std::string low = bytes_text(range.low);
  const std::string high = bytes_text(range.high);
  return low == high ? low : low + (style.utf8 ? " – " : " - ") + high;
}

std::string parameter_count_text(std::uint64_t parameters) {
  const double count = static_cast<double>(parameters);
  if (count >= 1e12) return fmt::format("{:.3g}T", count / 1e12);
  if (count >= 1e9) return fmt::format("{:.3g}B", count / 1e9);
  if (count >= 1e6) return fmt::format("{:.3g}M", count / 1e6);
  return std::to_string(parameters);
}

std::string heading_text(const FitAnswer& answer, const Style& style) {
  const Model& model = answer.model;
  const Workload& workload = answer.workload;
  std::string text = model.name.empty() ? "" : outside(model.name, style) + own(tr(": "), style);
  text += own(model.parameters ? trf("{} parameters", parameter_count_text(*model.parameters))
                               : tr("quantised weights (how many is not known)"),
              style);
  if (model.parameters.value_or(0) >= 1000 && model.shape_like.empty()) {
    text += fmt::format(" ({})", *model.parameters);
  }
  text += own(tr(", "), style);
  text += own(workload.trains ? tr("training") : tr("inference"), style);
  if (workload.gpus > 1) {
    text += own(tr(", "), style) + own(trf("on each of {} GPUs", workload.gpus), style);
    if (workload.sharding != Sharding::none) {
      text += fmt::format(" ({})", name_of(workload.sharding));
    }
  }
  return text;
}

std::string parts_text(const Estimate& estimate, const Style& style) {
  static constexpr TableColumn columns[] = {{.least = 22}, {}};
  std::vector<TableRow> rows;
  const auto add = [&](std::string_view label, std::string size, Paint paint) {
    rows.push_back({{"  " + own(label, style), paint}, {std::move(size), paint}});
  };
  for (const PartSize& part : estimate.parts) {
    add(part_words(part.part), range_text(part.size, style), Paint::plain);
  }
  add(tr("together"),
      estimate.at_least ? (style.utf8 ? "≥ " : ">= ") + bytes_text(estimate.total.low)
                        : range_text(estimate.total, style),
      Paint::bold);
  return Table(columns, std::move(rows), 2, style).rows_text();
}

struct Judgement {
  std::string_view words;
  Paint paint;
};
Judgement judgement(Verdict verdict) {
  switch (verdict) {
    case Verdict::fits:
      return {tr("fits"), Paint::green};
    case Verdict::tight:
      return {tr("tight"), Paint::yellow};
    case Verdict::too_small:
      return {tr("too small"), Paint::red};
  }
  return {"", Paint::plain};
}

constexpr auto here_columns = std::to_array<TableColumn>({{.least = 8}, {.least = 9}, {}, {}, {}});

TableRow here_cells(const DeviceVerdict& row, const Style& style) {
  const DeviceHere& device = row.device;
  const std::string number = device.index ? fmt::format("GPU {}", *device.index) : "GPU ?";
  const bool is_taken = row.now == Verdict::too_small && row.if_empty != Verdict::too_small &&
                        device.state != DeviceState::free;
  const Judgement now = is_taken  ? Judgement{state_word(device.state), state_paint(device.state)}
                        : row.now ? judgement(*row.now)
                                  : Judgement{tr("not known"), Paint::dim};
  const std::string free = reading_text(device.free, style, bytes_text);
  const std::string total = reading_text(device.total, style, bytes_text);
  const bool waits = is_taken && row.if_empty == Verdict::fits;
  return {"  " + number,
          {own(now.words, style), now.paint},
          own(trf("{} free, of {}", free, total), style),
          {std::string(without_maker(outside(device.name, style))), Paint::dim},
          {waits ? own(tr("(would, were it free)"), style) : std::string(), Paint::dim}};
}

std::string here_text(const FitAnswer& answer, const Style& style) {
  std::string text = own(tr("Here, now:"), style) + "\n";
  if (!answer.here_problem.empty()) {
    return text + wrapped("  ", outside(answer.here_problem.shown(), style), 2, style);
  }
  if (answer.here.empty()) return text + "  " + own(tr("no GPU"), style) + "\n";
  std::vector<TableRow> rows;
  for (const DeviceVerdict& row : answer.here) rows.push_back(here_cells(row, style));
  text += Table(here_columns, std::move(rows), 2, style).rows_text();
  const std::size_t fits = count_of(answer.here, Verdict::fits);
  const std::size_t tight = count_of(answer.here, Verdict::tight);
  if (answer.workload.gpus > 1) {
    text += wrapped(
        "  ",
        own(fits >= answer.workload.gpus
                ? trf("{} of {} fit, {} are wanted", fits, answer.here.size(), answer.workload.gpus)
                : trf("only {} of {} fit, {} are wanted", fits, answer.here.size(),
                      answer.workload.gpus),
            style),
        2, style);
  }
  const std::uint64_t wanted = std::max<std::uint64_t>(answer.workload.gpus, 1);
  if (fits >= wanted) {
    text += "  " + run_line(answer) + "\n";
  } else if (fits + tight >= wanted) {
    text += wrapped("  ", own(tr("Tight: take whole cards, and start small:"), style), 2, style);
    text += "  " + run_line(answer) + "\n";
  }
  if (answer.sharded_over) {
    text += wrapped(
        "  ",
        own(trf("Not on one: over {} GPUs like the largest here it would fit: --gpus {} "
                "--shard {}",
                *answer.sharded_over, *answer.sharded_over, answer.workload.trains ? "fsdp" : "tp"),
            style),
        2, style);
  }
  return text;
}

constexpr auto card_columns = std::to_array<TableColumn>({{.least = 11}, {.least = 8}, {}, {}});

TableRow card_cells(const CardVerdict& row, const Style& style) {
  const Judgement judged = judgement(row.verdict);
  const std::string_view lack = !row.lacks_precision
                                    ? tr("(not known whether it has arithmetic of this type)")
                                : *row.lacks_precision ? tr("(has no arithmetic of this type)")
                                                       : std::string_view();
  return {{"  " + own(judged.words, style), judged.paint},
          bytes_text(usable_memory(*row.card)),
          std::string(row.card->name),
          {own(lack, style), Paint::dim}};
}

std::string cards_text(const FitAnswer& answer, const Style& style) {
  std::vector<TableRow> rows;
  for (const CardVerdict& row : answer.cards) {
    const bool fits = row.verdict == Verdict::fits && row.lacks_precision == false;
    if (!answer.all_cards && (!fits || rows.size() == cards_shown)) continue;
    rows.push_back(card_cells(row, style));
  }
  const bool has_none = rows.empty() && !answer.all_cards;
  std::string text =
      own(answer.all_cards ? tr("Every card:")
                           : tr("Anywhere, the smallest that fit (--all: every card):"),
          style) +
      "\n" + Table(card_columns, std::move(rows), 2, style).rows_text();
  if (has_none) {
    text += wrapped("  ", own(tr("no single card; --gpus N --shard fsdp or tp divides it"), style),
                    2, style);
  }
  return text;
}

std::string assumptions_text(const FitAnswer& answer, const Style& style) {
  std::string text = own(tr("This rests on:"), style) + "\n";
  for (const Assumption& each : answer.estimate.assumptions) {
    std::string line = each.text.shown();
    if (!each.formula.empty()) line += std::string(tr(": ")) + each.formula;
    if (!each.source.empty()) line += " (" + each.source + ")";
    text += wrapped(style.utf8 ? "  · " : "  - ", own(line, style), 4, style, Paint::dim);
  }
  return text;
}

}  // namespace

std::string run_line(const FitAnswer& answer) {
  const std::uint64_t gib = (answer.estimate.total.high.count() + (1ULL << 30) - 1) >> 30;
  const std::string devices =
      answer.workload.gpus > 1 ? fmt::format("-n {} ", answer.workload.gpus) : "";
  const std::string_view program = answer.workload.trains ? "train.py" : "serve.py";
  // If no card has so much for certain, only a whole card will do.
  const std::size_t wanted = std::max<std::size_t>(answer.workload.gpus, 1);
  if (count_of(answer.here, Verdict::fits) < wanted) {
    return fmt::format("berth run {}-- python {}", devices, program);
  }
  return fmt::format("berth run {}--memory {}G -- python {}", devices, gib, program);
}

std::string render_fit(const FitAnswer& answer, const Style& style) {
  std::string text = simulated_line(answer.simulated, style);
  text += wrapped("", heading_text(answer, style), 2, style, Paint::bold);
  text += parts_text(answer.estimate, style);
  text += "\n" + here_text(answer, style);
  text += "\n" + cards_text(answer, style);
  text += "\n" + assumptions_text(answer, style);
  return text;
}

// Where a model fits, for programs.

namespace {

void write_range(Archive& archive, const ByteRange& range) {
  archive.derived("low_bytes", range.low);
  archive.derived("high_bytes", range.high);
}

std::string_view word_of(const std::optional<Verdict>& verdict) {
  return verdict ? name_of(*verdict) : std::string_view();
}

void write_shape(Archive& archive, const ModelShape& shape, const std::string& like) {
  archive.derived("layers", shape.layers);
  archive.derived("hidden", shape.hidden);
  archive.derived("heads", shape.heads);
  archive.derived("kv_heads", shape.kv_heads);
  archive.derived("head_size", shape.head_size);
  archive.derived("vocabulary", shape.vocabulary);
  archive.derived("like", like, Form::nullable);
}

void write_model(Archive& archive, const Model& model) {
  archive.derived("name", model.name, Form::nullable);
  archive.derived("parameters", model.parameters);
  archive.derived("stored_bytes", model.stored_bytes);
  archive.derived_object("shape", model.shape.has_value(),
                         [&] { write_shape(archive, *model.shape, model.shape_like); });
}

void write_workload(Archive& archive, const Workload& workload) {
  std::string_view precision;
  if (workload.precision) precision = name_of(*workload.precision);
  if (workload.four_bits) precision = workload.four_bits->name;
  archive.derived("trains", workload.trains);
  archive.derived("dtype", precision, Form::nullable);
  archive.derived("mixed", workload.mixed);
  archive.derived("checkpointing", workload.checkpointing);
  archive.derived("batch", workload.batch);
  archive.derived("sequence", workload.sequence);
  archive.derived("gpus", workload.gpus);
  archive.derived("shard", name_of(workload.sharding));
}

void write_verdict(Archive& archive, const DeviceVerdict& row) {
  archive.derived("index", row.device.index);
  archive.derived("name", row.device.name);
  archive.derived("state", name_of(row.device.state));
  archive.derived("memory_free_bytes", row.device.free.get());
  archive.derived("memory_total_bytes", row.device.total.get());
  archive.derived("now", word_of(row.now), Form::nullable);
  archive.derived("if_empty", word_of(row.if_empty), Form::nullable);
}

void write_card(Archive& archive, const CardVerdict& row) {
  archive.derived("name", row.card->name);
  archive.derived("memory_usable_bytes", usable_memory(*row.card));
  archive.derived("verdict", name_of(row.verdict));
  archive.derived("lacks_dtype", row.lacks_precision);
}

void write_assumption(Archive& archive, const Assumption& each) {
  archive.derived("text", each.text.english());
  archive.derived("formula", each.formula, Form::nullable);
  archive.derived("source", each.source, Form::nullable);
}

void write_fit(Archive& archive, const FitAnswer& answer) {
  archive.derived("berth_fit", 1);
  archive.derived("simulated", answer.simulated);
  archive.derived_object("model", true, [&] { write_model(archive, answer.model); });
  archive.derived_object("workload", true, [&] { write_workload(archive, answer.workload); });
  archive.derived("computed_in", name_of(answer.estimate.precision));
  archive.derived_object("parts", true, [&] {
    for (const PartSize& part : answer.estimate.parts) {
      archive.derived_object(name_of(part.part), true, [&] { write_range(archive, part.size); });
    }
  });
  archive.derived_object("total", true, [&] {
    const Estimate& estimate = answer.estimate;
    archive.derived("low_bytes", estimate.total.low);
    archive.derived("high_bytes",
                    estimate.at_least ? std::nullopt : std::optional(estimate.total.high));
  });
  archive.derived_list("here", answer.here,
                       [&](const DeviceVerdict& row) { write_verdict(archive, row); });
  archive.derived("here_problem", answer.here_problem, Form::nullable);
  archive.derived("sharded_over", answer.sharded_over);
  archive.derived_list("cards", answer.cards,
                       [&](const CardVerdict& row) { write_card(archive, row); });
  archive.derived_list("assumptions", answer.estimate.assumptions,
                       [&](const Assumption& each) { write_assumption(archive, each); });
}

}  // namespace

std::string fit_json(const FitAnswer& answer) {
  return write_json(JsonLayout::indented, [&](Archive& archive) { write_fit(archive, answer); }) +
         "\n";
}

}  // namespace berth

// Where a model fits, for programs.

#include "base/json_archive.h"
#include "view/fit_text.h"

namespace berth {

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
  archive.derived("trains", workload.trains);
  archive.derived("dtype", precision, Form::nullable);
  archive.derived("mixed", workload.mixed);
  archive.derived("checkpointing", workload.checkpointing);
  archive.derived("batch", workload.batch);
  archive.derived("sequence", workload.sequence);
  archive.derived("gpus", workload.gpus);
  archive.derived("shard", name_of(workload.sharding));
}

void write_room(Archive& archive, const RoomVerdict& row) {
  archive.derived("index", row.room.index);
  archive.derived("name", row.room.name);
  archive.derived("state", name_of(row.room.state));
  archive.derived("memory_free_bytes", row.room.free.get());
  archive.derived("memory_total_bytes", row.room.total.get());
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
  archive.derived_object("total", true, [&] { write_range(archive, answer.estimate.total); });
  archive.derived_list("here", answer.here,
                       [&](const RoomVerdict& row) { write_room(archive, row); });
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

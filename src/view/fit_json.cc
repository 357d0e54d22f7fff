// Where a model fits, for programs.

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "view/fit_text.h"

namespace berth {

namespace {

using FitJson = nlohmann::ordered_json;

FitJson range_json(const ByteRange& range) {
  return {{"low_bytes", range.low.count()}, {"high_bytes", range.high.count()}};
}

FitJson verdict_json(const std::optional<Verdict>& verdict) {
  return verdict ? FitJson(name_of(*verdict)) : FitJson(nullptr);
}

FitJson bytes_json(const Reading<Bytes>& reading) {
  return reading.get() ? FitJson(reading.get()->count()) : FitJson(nullptr);
}

FitJson model_json(const Model& model) {
  FitJson shape = nullptr;
  if (model.shape) {
    shape = {{"layers", model.shape->layers},
             {"hidden", model.shape->hidden},
             {"heads", model.shape->heads},
             {"kv_heads", model.shape->kv_heads},
             {"head_size", model.shape->head_size},
             {"vocabulary", model.shape->vocabulary},
             {"like", model.shape_like.empty() ? FitJson(nullptr) : FitJson(model.shape_like)}};
  }
  return {{"name", model.name.empty() ? FitJson(nullptr) : FitJson(model.name)},
          {"parameters", model.parameters ? FitJson(*model.parameters) : FitJson(nullptr)},
          {"stored_bytes", model.stored_bytes ? FitJson(*model.stored_bytes) : FitJson(nullptr)},
          {"shape", std::move(shape)}};
}

FitJson workload_json(const Workload& workload) {
  return {{"trains", workload.trains},
          {"dtype", workload.precision ? FitJson(name_of(*workload.precision)) : FitJson(nullptr)},
          {"mixed", workload.mixed},
          {"checkpointing", workload.checkpointing},
          {"batch", workload.batch},
          {"sequence", workload.sequence},
          {"gpus", workload.gpus},
          {"shard", name_of(workload.sharding)}};
}

}  // namespace

std::string fit_json(const FitAnswer& answer) {
  FitJson parts = FitJson::object();
  for (const PartSize& part : answer.estimate.parts) {
    parts[std::string(name_of(part.part))] = range_json(part.size);
  }
  FitJson here = FitJson::array();
  for (const RoomVerdict& row : answer.here) {
    here.push_back({{"index", row.room.index ? FitJson(*row.room.index) : FitJson(nullptr)},
                    {"name", row.room.name},
                    {"state", name_of(row.room.state)},
                    {"memory_free_bytes", bytes_json(row.room.free)},
                    {"memory_total_bytes", bytes_json(row.room.total)},
                    {"now", verdict_json(row.now)},
                    {"if_empty", verdict_json(row.if_empty)}});
  }
  FitJson cards = FitJson::array();
  for (const CardVerdict& row : answer.cards) {
    cards.push_back({{"name", row.card->name},
                     {"memory_usable_bytes", usable_memory(*row.card).count()},
                     {"verdict", name_of(row.verdict)},
                     {"lacks_dtype", row.lacks_precision}});
  }
  FitJson assumptions = FitJson::array();
  for (const Assumption& each : answer.estimate.assumptions) {
    assumptions.push_back(
        {{"text", each.text.english()},
         {"formula", each.formula.empty() ? FitJson(nullptr) : FitJson(each.formula)},
         {"source", each.source.empty() ? FitJson(nullptr) : FitJson(each.source)}});
  }
  const FitJson all = {
      {"berth_fit", 1},
      {"simulated", answer.simulated ? FitJson(*answer.simulated) : FitJson(nullptr)},
      {"model", model_json(answer.model)},
      {"workload", workload_json(answer.workload)},
      {"computed_in", name_of(answer.estimate.precision)},
      {"parts", std::move(parts)},
      {"total", range_json(answer.estimate.total)},
      {"here", std::move(here)},
      {"here_problem",
       answer.here_problem.empty() ? FitJson(nullptr) : FitJson(answer.here_problem)},
      {"sharded_over", answer.sharded_over ? FitJson(*answer.sharded_over) : FitJson(nullptr)},
      {"cards", std::move(cards)},
      {"assumptions", std::move(assumptions)}};
  return printable_json(all.dump(2, ' ', false, FitJson::error_handler_t::replace)) + "\n";
}

}  // namespace berth

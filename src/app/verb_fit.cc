// `berth fit MODEL`: what a model takes, and on which cards here or anywhere it fits.

#include <algorithm>

#include "app/verb.h"
#include "base/text.h"
#include "base/tr.h"
#include "fit/model_file.h"
#include "place/placement.h"
#include "snapshot/device_kind.h"
#include "snapshot/questions.h"
#include "view/fit_text.h"

namespace berth {

namespace {

/// Devices that a job can be given, as placement sees them.
std::vector<DeviceHere> devices_here(const Snapshot& snapshot) {
  std::vector<DeviceHere> here;
  for (const Device& device : snapshot.devices) {
    const DeviceState state = state_of(device, snapshot);
    if (!is_supported(device) || state == DeviceState::divided) continue;
    const bool lost = state == DeviceState::lost || state == DeviceState::failed ||
                      state == DeviceState::unusable;
    here.push_back({device.index, device.name.get().value_or("?"),
                    lost ? Reading<Bytes>(Absent::failed) : promisable_memory(device, snapshot),
                    lost ? Reading<Bytes>(Absent::failed) : device.memory_total, state});
  }
  return here;
}

class FitVerb final : public Verb {
 public:
  void declare(Options& options) override {
    options.required_word("MODEL", model_,
                          "7B, 350M, 1.1e9, a config.json, safetensors, or a folder of them", "");
    options.filled_value("--train", train_,
                         "adam, adamw, adam8bit, sgd, sgd-momentum, adafactor, lora[:RANK], "
                         "qlora[:RANK] (inference)",
                         "HOW");
    options.filled_value(
        "--dtype", dtype_,
        "of weights and products: fp32, tf32, bf16, fp16, fp8, int8, int4 (bf16, or as the files "
        "are). 4-bit weights as gptq, awq, nf4, mxfp4, mlx4, q4_0 or q4_k_m store them",
        "TYPE");
    options.flag("--mixed", mixed_, "mixed precision: FP32 master weights beside 16 bits");
    options.number("--batch", batch_, "sequences on a GPU at a time (1)", "N", 1, 1 << 20);
    options.filled_value("--seq,--context", sequence_, "tokens of each, 4096 or 128k (2048)", "N");
    options.flag("--checkpointing", checkpointing_, "activation checkpointing");
    options.number("--gpus", gpus_, "how many GPUs work together (1)", "N", 1, 65536);
    options.choice("--shard", shard_, "what they divide: none, zero1, zero2, zero3, fsdp, tp",
                   "HOW", {"none", "zero1", "zero2", "zero3", "fsdp", "tp"});
    options.begin_group("The model's shape, where only its size is known");
    options.number("--layers", layers_, "how many layers", "N", 1, 1 << 12);
    options.number("--hidden", hidden_, "numbers per token between layers", "N", 1, 1 << 18);
    options.number("--heads", heads_, "attention heads of a layer", "N", 1, 1 << 12);
    options.begin_group("The answer");
    options.flag("--all", all_, "every card of the table");
    options.flag("--json", json_, "as JSON");
  }

  int run(Context& context, const std::vector<std::string>& rest) override {
    if (!rest.empty()) {
      complain(trf("fit takes no word \"{}\"", printable(rest.front())));
      return exit_code::usage;
    }
    const auto workload = asked();
    if (!workload) return report(workload.error(), exit_code::usage);
    FitAnswer answer{.workload = *workload, .all_cards = all_};
    if (names_a_file(model_)) {
      auto model = read_model(model_);
      if (!model) return report(model.error());
      answer.model = std::move(*model);
    } else {
      const auto count = parse_parameter_count(model_);
      if (!count) return report(count.error(), exit_code::usage);
      answer.model = model_of_size(*count);
    }
    if (const auto mistake = shape_into(answer.model)) return report(*mistake, exit_code::usage);
    if (const auto mistake = mistake_in(answer.model, *workload)) return report(*mistake);
    fill(context, answer);
    print(json_ ? fit_json(answer) : render_fit(answer, context.out()));
    return exit_code::ok;
  }

 private:
  [[nodiscard]] Result<Workload> asked() const {
    Workload workload{.mixed = mixed_,
                      .checkpointing = checkpointing_,
                      .batch = static_cast<std::uint64_t>(batch_),
                      .gpus = static_cast<std::uint64_t>(gpus_)};
    auto tokens = parse_token_count(sequence_);
    if (!tokens) return std::unexpected(std::move(tokens).error());
    workload.sequence = *tokens;
    if (!train_.empty()) {
      if (auto set = set_training(train_, workload); !set) {
        return std::unexpected(std::move(set).error());
      }
    }
    if (!dtype_.empty()) {
      if (auto set = set_precision(dtype_, workload); !set) {
        return std::unexpected(std::move(set).error());
      }
    }
    if (!shard_.empty()) workload.sharding = sharding_from_name(shard_).value_or(Sharding::none);
    if (auto mistake = mistake_in(workload)) return std::unexpected(std::move(*mistake));
    return workload;
  }

  [[nodiscard]] std::optional<Error> shape_into(Model& model) const {
    if (layers_ == 0 && hidden_ == 0 && heads_ == 0) return std::nullopt;
    if (layers_ == 0 || hidden_ == 0 || heads_ == 0 || hidden_ % heads_ != 0) {
      return Error(
          ErrorCode::invalid,
          "--layers, --hidden and --heads go together, and the heads divide --hidden evenly");
    }
    const std::uint64_t words = model.shape ? model.shape->vocabulary : 32000;
    const auto heads = static_cast<std::uint64_t>(heads_);
    const auto hidden = static_cast<std::uint64_t>(hidden_);
    model.shape = {
        static_cast<std::uint64_t>(layers_), hidden, heads, heads, hidden / heads, words};
    model.shape_like.clear();
    model.cache = {};
    return std::nullopt;
  }

  void fill(Context& context, FitAnswer& answer) const {
    answer.estimate = estimate(answer.model, answer.workload);
    answer.cards = judged_cards(answer.estimate.total, answer.estimate.precision);
    const auto snapshot = context.look(Depth::state);
    if (!snapshot) {
      answer.here_problem = snapshot.error().said();
      return;
    }
    answer.simulated = snapshot->simulated;
    answer.here = judged(devices_here(*snapshot), answer.estimate.total);
    Bytes largest;
    for (const DeviceVerdict& row : answer.here) {
      if (const auto& total = row.device.total.get()) largest = std::max(largest, *total);
    }
    const bool alone = answer.workload.gpus == 1;
    if (alone && largest.count() > 0 &&
        verdict_of(answer.estimate.total, largest) == Verdict::too_small) {
      answer.sharded_over = fewest_gpus(
          answer.model, answer.workload,
          answer.workload.trains ? Sharding::zero3 : Sharding::tensor_parallel, largest);
    }
  }

  std::string model_;
  std::string train_;
  std::string dtype_;
  std::string shard_;
  int batch_ = 1;
  std::string sequence_ = "2048";
  int gpus_ = 1;
  int layers_ = 0;
  int hidden_ = 0;
  int heads_ = 0;
  bool mixed_ = false;
  bool checkpointing_ = false;
  bool all_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_fit() { return std::make_unique<FitVerb>(); }

}  // namespace berth

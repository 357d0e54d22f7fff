// `berth ranks`, which no person types: the first process of a job with --ddp.

#include <unistd.h>

#include <string>

#include "app/verb.h"
#include "base/signals.h"
#include "base/text.h"
#include "base/tr.h"
#include "run/ranks/rank_launcher.h"
#include "view/ranks_text.h"

namespace berth {

namespace {

class RanksVerb final : public Verb {
 public:
  void declare(Options& options) override {
    options.hidden_value("--count", count_);
    options.hidden_value("--record", plan_.record);
    options.hidden_value("--cpus", cpus_);
    options.hidden_value("--grace", grace_);
    options.hidden_value("--warning", warning_);
    options.hidden_value("--node", node_);
    options.hidden_value("--by", by_);
  }
  [[nodiscard]] int usage_code() const override { return exit_code::berth_failed; }
  [[nodiscard]] bool takes_command() const override { return true; }

  int run(Context& context, const std::vector<std::string>& command) override {
    const auto grace = parse_duration(grace_);
    auto bindings = bindings_in(cpus_);
    const auto count = parse_unsigned(count_);
    const auto warning = parse_unsigned(warning_);
    const auto node = rank_node_in(node_ + ":");
    constexpr std::uint64_t most = 4096;
    if (command.empty() || !grace || !bindings || !count || *count < 1 || *count > most ||
        !warning || *warning > most || !node) {
      complain(tr("ranks: it is started by berth run --ddp"));
      return usage_code();
    }
    plan_.ranks = static_cast<int>(*count);
    plan_.warning_signal = static_cast<int>(*warning);
    plan_.grace = *grace;
    plan_.node = node->node;
    plan_.nodes = node->nodes;
    plan_.by_torchrun = by_ == "torchrun";
    plan_.bindings = *std::move(bindings);
    const auto end = run_ranks(plan_, command, context.environment(), context.clock(),
                               [](const RankNews& news) { complain(sentence_of(news)); });
    return end ? end_like(*end) : report(end.error(), usage_code());
  }

 private:
  RankPlan plan_;
  std::string count_;
  std::string warning_ = "0";
  std::string node_ = "0/1";
  std::string by_ = "berth";
  std::string cpus_;
  std::string grace_ = "10s";
};

}  // namespace

std::unique_ptr<Verb> make_ranks() { return std::make_unique<RanksVerb>(); }

}  // namespace berth

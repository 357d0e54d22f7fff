#include "view/ranks_text.h"

#include <fmt/format.h>

#include <array>

#include "base/sentence.h"
#include "base/text.h"
#include "base/tr.h"
#include "diagnose/postmortem/evidence.h"
#include "snapshot/device_name.h"
#include "view/table.h"

namespace berth {

namespace {

constexpr std::array<TableColumn, 6> rank_columns = {{
    {.header = as_key("Rank"), .align = Align::right},
    {.header = as_key("Node"), .when_empty = WhenEmpty::goes},
    {.header = "GPU", .when_empty = WhenEmpty::goes},
    {.header = "PID", .align = Align::right, .drop_order = 2},
    {.header = "CPUs", .minimum = 8, .drop_order = 1, .when_empty = WhenEmpty::goes},
    {.header = as_key("How it went"), .minimum = 12},
}};

std::string failure_text(const Rank& rank) {
  return rank.exit.signal != 0
             ? trf("rank {} ended first, by {}", rank.rank, signal_name(rank.exit.signal))
             : trf("rank {} ended first, with exit code {}", rank.rank, rank.exit.code);
}

std::string sentence(const RankFailed& news) {
  const std::string how = failure_text(news.rank);
  return news.log.empty() ? trf("{}; the others are ended", how)
                          : trf("{}; the others are ended. Its output: {}", how, news.log);
}

std::string sentence(const RankNodeFailed& news) {
  const std::string how =
      news.exit.signal != 0
          ? trf("node {} ended first, by {}", news.node, signal_name(news.exit.signal))
          : trf("node {} ended first, with exit code {}", news.node, news.exit.code);
  return trf("{}; no rank of it failed, and the others are ended: srun's words stand above", how);
}

std::string sentence(const TorchrunFailed& news) {
  const std::string how =
      news.exit.signal != 0
          ? trf("torchrun of node {} ended first, by {}", news.node, signal_name(news.exit.signal))
          : trf("torchrun of node {} ended first, with exit code {}", news.node, news.exit.code);
  return trf("{}; the others are ended. What it printed names the rank", how);
}

std::string sentence(const RanksKilled& news) {
  if (news.ranks.empty()) return std::string(tr("torchrun did not end in time and is killed"));
  return trf("of the other ranks these did not end in time and are killed: {}",
             joined(news.ranks, ", "));
}

std::string sentence(const RanksUnrecorded& news) {
  return trf("the run's record does not show its ranks: {}", news.why.shown());
}

}  // namespace

std::string sentence_of(const RankNews& news) {
  return std::visit([](const auto& one) { return sentence(one); }, news);
}

std::string end_text(const Rank& rank, const RunRanks& all, bool runs) {
  if (!rank.ended) return std::string(runs ? tr("runs") : tr("its end was not seen"));
  std::string text = rank.exit.signal != 0 ? trf("ended by {}", signal_name(rank.exit.signal))
                                           : trf("ended with {}", rank.exit.code);
  if (all.failed_first == rank.rank) text += std::string(tr(", before the others"));
  return text;
}

std::string render_ranks(const RunRecord& run, const Style& style) {
  const auto ranks = run_ranks_of(run);
  if (!ranks || ranks->ranks.empty()) return {};
  const bool runs = run.state == RunState::running;
  std::vector<TableRow> rows;
  for (const Rank& one : ranks->ranks) {
    const auto at = static_cast<std::size_t>(one.rank);
    const auto& devices = run.manifest.given.devices;
    const bool is_first = ranks->failed_first == one.rank;
    rows.push_back(
        {own(std::to_string(one.rank), style),
         outside(one.node, style),
         at < devices.size() ? outside(name_for_people(devices[at]), style) : "",
         one.process ? std::to_string(one.process->pid) : "",
         outside(one.cpus, style),
         {own(end_text(one, *ranks, runs), style), is_first ? Paint::red : Paint::plain}});
  }
  const std::string heading =
      own(trf("Ranks, which meet at {}",
              fmt::format("{}:{}", printable(ranks->master_address), ranks->master_port)),
          style);
  return "\n" + Line(style).add(heading, Paint::bold).text() +
         Table(rank_columns, std::move(rows), 2, style).text();
}

}  // namespace berth

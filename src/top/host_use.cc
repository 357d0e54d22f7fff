#include "top/host_use.h"

#include <fmt/format.h>

#include <string>

#include "base/text.h"
#include "base/tr.h"
#include "view/values.h"

namespace berth::top {

namespace {

std::optional<Bytes> memory_in(std::string_view meminfo, std::string_view key) {
  const auto kib = number_in_lines(meminfo, key);
  return kib && *kib < (std::uint64_t{1} << 50) ? std::optional(Bytes(*kib * 1024)) : std::nullopt;
}

}  // namespace

std::optional<HostMeter::Ticks> HostMeter::ticks_in(std::string_view stat) {
  const auto words = words_in(stat.substr(0, stat.find('\n')));
  // cpu user nice system idle iowait irq softirq steal; guests are in user and nice already.
  constexpr std::size_t last = 8;
  if (words.size() < last || words[0] != "cpu") return std::nullopt;
  Ticks ticks;
  for (std::size_t i = 1; i < words.size() && i <= last; ++i) {
    const auto count = parse_unsigned(words[i]);
    if (!count) return std::nullopt;
    ticks.all += *count;
    const bool is_idle = i == 4 || i == 5;
    if (!is_idle) ticks.busy += *count;
  }
  return ticks;
}

HostUse HostMeter::take(std::string_view stat, std::string_view meminfo, std::string_view loadavg) {
  HostUse use;
  const auto now = ticks_in(stat);
  if (now && before_ && now->all > before_->all && now->busy >= before_->busy) {
    use.cpu_percent = 100.0 * static_cast<double>(now->busy - before_->busy) /
                      static_cast<double>(now->all - before_->all);
  }
  before_ = now;
  const auto total = memory_in(meminfo, "MemTotal");
  const auto available = memory_in(meminfo, "MemAvailable");
  if (total && available && *available <= *total) {
    use.memory_total = total;
    use.memory_used = minus(*total, *available);
  }
  const auto words = words_in(loadavg);
  if (!words.empty()) use.load = parse_decimal(words[0]);
  return use;
}

std::optional<double> memory_percent(const HostUse& use) {
  if (!use.memory_used || !use.memory_total || use.memory_total->count() == 0) return std::nullopt;
  return 100.0 * static_cast<double>(use.memory_used->count()) /
         static_cast<double>(use.memory_total->count());
}

std::string host_text(const HostUse& use) {
  std::string text;
  const auto add = [&](const std::string& one) { text += (text.empty() ? "" : "  ") + one; };
  if (use.cpu_percent) add(trf("CPU {}", percent_text(Percent(*use.cpu_percent))));
  if (use.memory_used && use.memory_total) {
    add(trf("memory {}", bytes_of_total(*use.memory_used, *use.memory_total)));
  }
  if (use.load) add(trf("load {}", fmt::format("{:.1f}", *use.load)));
  return text;
}

}  // namespace berth::top

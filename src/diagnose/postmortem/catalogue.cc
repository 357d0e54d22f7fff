#include "diagnose/postmortem/catalogue.h"

#include <algorithm>

#include "diagnose/postmortem/catalogue_device.h"
#include "diagnose/postmortem/catalogue_distributed.h"
#include "diagnose/postmortem/catalogue_driver.h"
#include "diagnose/postmortem/catalogue_host.h"
#include "diagnose/postmortem/catalogue_kernel.h"
#include "diagnose/postmortem/catalogue_memory.h"
#include "diagnose/postmortem/log_text.h"

namespace berth {

namespace {

constexpr auto families = std::to_array<LogFamily>({{"Memory", memory_entries},
                                                    {"Kernels and devices", kernel_entries},
                                                    {"Drivers and libraries", driver_entries},
                                                    {"Mixed-up devices", device_entries},
                                                    {"Several processes", distributed_entries},
                                                    {"The machine around it", host_entries}});

bool fits(std::string_view pattern, std::string_view line) {
  const bool at_beginning = pattern.starts_with('^');
  if (at_beginning) pattern.remove_prefix(1);
  const bool to_end = pattern.ends_with('$');
  if (to_end) pattern.remove_suffix(1);
  for (bool first = true;; first = false) {
    const std::size_t hole = std::min(pattern.find('*'), pattern.size());
    const std::string_view piece = pattern.substr(0, hole);
    if (first && at_beginning && !line.starts_with(piece)) return false;
    const std::size_t at = line.find(piece);
    if (at == std::string_view::npos) return false;
    line.remove_prefix(at + piece.size());
    if (hole == pattern.size()) return !to_end || line.empty();
    pattern.remove_prefix(hole + 1);
  }
}

}  // namespace

std::span<const LogFamily> log_catalogue() { return families; }

std::size_t log_catalogue_size() {
  std::size_t size = 0;
  for (const LogFamily& family : families) size += family.entries.size();
  return size;
}

const LogEntry* log_entry(std::string_view code) {
  for (const LogFamily& family : families) {
    for (const LogEntry& entry : family.entries) {
      if (entry.code == code) return &entry;
    }
  }
  return nullptr;
}

bool fits_any(std::string_view patterns, std::string_view line) {
  while (!patterns.empty()) {
    const std::size_t end = std::min(patterns.find('\n'), patterns.size());
    if (fits(patterns.substr(0, end), line)) return true;
    patterns.remove_prefix(std::min(end + 1, patterns.size()));
  }
  return false;
}

const LogEntry* entry_of_line(std::string_view line) {
  line = without_prefix(line);
  const bool error = is_error_line(line);
  for (const LogFamily& family : families) {
    for (const LogEntry& entry : family.entries) {
      if (entry.where == LogWhere::raised && !error) continue;
      if (fits_any(entry.patterns, line)) return &entry;
    }
  }
  return nullptr;
}

}  // namespace berth

#pragma once
// Lists: what the vendor's tool tells of a device in several rows: retired pages, finished
// processes, the clocks one may ask for. Absent until asked for, like Details.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/reading.h"
#include "base/units.h"

namespace berth {

struct RetiredPage {
  enum class Cause { single_bit, double_bit };
  std::uint64_t address = 0;
  Cause cause = Cause::single_bit;
  Reading<WallTime> retired;
  friend bool operator==(const RetiredPage&, const RetiredPage&) = default;
};

/// A process that accounting remembers.
struct AccountedProcess {
  pid_t pid = 0;
  Reading<Percent> utilization_gpu;     // over its life
  Reading<Percent> utilization_memory;  // over its life
  Reading<Bytes> memory_max;
  Reading<Milliseconds> run_time;  // 0 while it still runs
  Reading<bool> running;
  friend bool operator==(const AccountedProcess&, const AccountedProcess&) = default;
};

/// The graphics clocks one may ask for at one memory clock, as the driver orders them.
struct SupportedClocks {
  Megahertz memory;
  std::vector<Megahertz> graphics;
  friend bool operator==(const SupportedClocks&, const SupportedClocks&) = default;
};

/// One NVLink of a device.
struct NvLink {
  std::uint32_t number = 0;
  Reading<bool> active;
  Reading<BytesPerSecond> speed;  // one direction
  Reading<std::string> remote;    // PCI address of what is at its other end: a device or a switch
  friend bool operator==(const NvLink&, const NvLink&) = default;
};

struct Lists {
  Reading<std::vector<RetiredPage>> retired_pages;
  Reading<std::vector<AccountedProcess>> accounted_processes;
  Reading<std::vector<SupportedClocks>> supported_clocks;
  Reading<std::vector<NvLink>> nvlinks;
  friend bool operator==(const Lists&, const Lists&) = default;
};

}  // namespace berth

#include "smi/help.h"

namespace berth::smi {

std::string help_text() {
  return R"(berth smi: what nvidia-smi shows, in its own formats, from the devices that berth sees.

  berth smi -L
  berth smi --query-gpu=index,memory.used --format=csv

berth smi [OPTION]...          also: a link named nvidia-smi that points to berth

  no option                    the table of devices and processes
  -L, --list-gpus              one line per device
  -B, --list-excluded-gpus     devices that the driver was told to leave alone
  -q, --query                  everything about each device
  -q -d SECTION,...            only these sections: MEMORY UTILIZATION ECC TEMPERATURE POWER CLOCK
                               COMPUTE PIDS PERFORMANCE SUPPORTED_CLOCKS PAGE_RETIREMENT ACCOUNTING
                               ENCODER_STATS SUPPORTED_GPU_TARGET_TEMP VOLTAGE FBC_STATS
                               ROW_REMAPPER RESET_STATUS GSP_FIRMWARE_VERSION POWER_SMOOTHING
                               POWER_PROFILES
  -q -x, -q -j                 the same as XML; as JSON (the real one has no JSON)
  --query-gpu=FIELD,...        these fields, one line per device; with --format=csv
  --query-compute-apps=, --query-accounted-apps=, --query-retired-pages=,
  --query-remapped-rows=, --query-supported-clocks=
  --help-query-gpu ...         the fields of each of them
  --format=csv[,noheader][,nounits]

  -i, --id=ID,...              only these: index, UUID, PCI address or serial number
  -f, --filename=FILE          into a file
  -l, --loop[=SECONDS]         again and again (5) until Ctrl-C
  -lms, --loop-ms[=MILLISECONDS]   the same, by the millisecond (100)
      --version                of the driver and its library
  -h, --help                   this

  topo -m                      how the devices are connected
  nvlink -s [-i ID]            state of the NVLinks
  dmon, pmon [-h]              one line per device, per process, every second

berth's own --sim NAME, --replay FILE and BERTH_SIM work here too; what is simulated says so on
stderr. Nothing here changes a device: -pm, -pl, -c, -r, mig and the like are refused with the
command for the real nvidia-smi (exit 4); what berth does not show exits with 3.
)";
}

std::string monitor_help(SmiRequest::What what) {
  if (what == SmiRequest::What::pmon) {
    return R"(berth smi pmon: one line per process on a device, every second.

  -i ID,...    only these devices          -s LETTERS  columns: u utilisation, m memory (u)
  -d SECONDS   between two looks (1)       -o DT       with the date, the time
  -c COUNT     so many looks, then end     -f FILE     into a file
)";
  }
  return R"(berth smi dmon: one line per device, every second.

  -i ID,...    only these devices          -s LETTERS  columns (puc): p power and temperature,
  -d SECONDS   between two looks (1)                   u utilisation, c clocks, v violations,
  -c COUNT     so many looks, then end                 m memory, e errors, t PCIe traffic
  -f FILE      into a file                 -o DT       with the date, the time
)";
}

std::string topology_help() {
  return "berth smi topo -m: how the devices are connected to each other and to the processors.\n";
}

std::string nvlink_help() { return "berth smi nvlink -s [-i ID]: state and speed of each link.\n"; }

}  // namespace berth::smi

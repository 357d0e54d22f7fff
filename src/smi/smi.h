#pragma once
// nvidia-smi's surfaces as functions of a Snapshot. What its command line asks for is printed as it
// would print it, byte for byte. The layout is that of the driver's generation (generation.h). None
// of this text is translated: it is a format that scripts read.
//
//   const auto asked = smi::parse(words);                      // or what is wrong with them
//   const smi::Output out = smi::answer(*asked, source);       // text for stdout, exit code
//
// Loops (-l), files (-f) and the signals that end them are the caller's: SmiRequest says them.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snapshot/snapshot.h"
#include "snapshot/wanted.h"

namespace berth::smi {

/// nvidia-smi writes its errors to stdout too; `code` is its exit code.
struct Output {
  std::string text;
  int code = 0;
  /// Said beside it, on stderr: why a card could not be asked. The text is a format that scripts
  /// read, and has only ERR!.
  std::vector<Problem> silent = {};
};

inline constexpr int not_permitted = 4;  // an exit code

/// What is asked for, before anything is looked at.
struct SmiRequest {
  enum class What {
    table,
    list,
    excluded,
    query,
    query_gpu,
    query_compute_apps,
    query_accounted_apps,
    query_retired_pages,
    query_remapped_rows,
    query_supported_clocks,
    topology,
    nvlink,
    dmon,
    pmon,
    version,
    text  // help, an error, a refusal: `said`, no device is looked at
  };
  enum class Form { text, xml, json, csv };

  What what = What::table;
  Form form = Form::text;
  std::vector<std::string> devices;   // -i: index, UUID, PCI address or serial; empty: all
  std::vector<std::string> fields;    // of --query-…, canonical or alias, as typed
  std::vector<std::string> sections;  // of -q -d, upper case; empty: everything
  bool header = true;
  bool units = true;
  std::optional<std::chrono::milliseconds> every;  // -l, -lms, dmon, pmon
  std::optional<std::uint64_t> times;              // dmon and pmon -c
  std::optional<std::string> file;                 // -f
  std::string select;                              // dmon and pmon -s: letters of columns
  std::string stamps;                              // dmon and pmon -o: D, T
  std::string help_of;                             // --help-query-X: X
  Output said;
};

/// Where a look comes from: the machine, a replay, a simulated server.
class Source {
 public:
  virtual ~Source() = default;
  virtual Snapshot look(const Wanted& wanted) = 0;

  /// The round before: dmon tells what has happened since. Null: there was none.
  [[nodiscard]] const Snapshot* round_before() const { return round_ ? &*round_ : nullptr; }
  void keep_round(Snapshot round) { round_ = std::move(round); }

 private:
  std::optional<Snapshot> round_;
};

/// How times are shown: nvidia-smi prints the machine's local time.
struct Clockface {
  std::chrono::seconds utc_offset{0};
};

[[nodiscard]] SmiRequest parse(const std::vector<std::string>& argv);
/// What its answer prints, whatever the driver.
[[nodiscard]] Wanted wanted_by(const SmiRequest& request);
/// One answer. For dmon and pmon the first one has the headings; `tick` counts from 0.
[[nodiscard]] Output answer(const SmiRequest& request, Source& source, Clockface clockface = {},
                            std::uint64_t tick = 0);
/// parse() and answer() once.
[[nodiscard]] Output run(const std::vector<std::string>& argv, Source& source,
                         Clockface clockface = {});

/// Rates of the PCIe counters since the look before, where a look by itself could not tell them.
void add_rates(Snapshot& now, const Snapshot& before);

/// The devices that -i names, in the order of the snapshot; nothing: one of them does not exist.
[[nodiscard]] std::optional<std::vector<const Device*>> chosen(
    const Snapshot& snapshot, const std::vector<std::string>& devices);

// --- the surfaces
// ---------------------------------------------------------------------------------

[[nodiscard]] std::string render_query(const Snapshot& snapshot, const SmiRequest& request,
                                       Clockface clockface);
[[nodiscard]] std::string render_xml(const Snapshot& snapshot, const SmiRequest& request,
                                     Clockface clockface);
/// The tree of -q -x as JSON, which nvidia-smi itself does not have. It says whether it is
/// simulated.
[[nodiscard]] std::string render_json(const Snapshot& snapshot, const SmiRequest& request,
                                      Clockface clockface);
[[nodiscard]] Output render_csv(const Snapshot& snapshot, const SmiRequest& request,
                                Clockface clockface);

[[nodiscard]] std::string render_table(const Snapshot& snapshot, const SmiRequest& request,
                                       Clockface clockface);
[[nodiscard]] std::string render_list(const Snapshot& snapshot, const SmiRequest& request);
[[nodiscard]] Output render_excluded(const Snapshot& snapshot);
[[nodiscard]] Output render_topology(const Snapshot& snapshot, const SmiRequest& request);
[[nodiscard]] Output render_nvlink(const Snapshot& snapshot, const SmiRequest& request);
/// `before` is the round before; null: there was none.
[[nodiscard]] Output render_dmon(const Snapshot& snapshot, const SmiRequest& request,
                                 Clockface clockface, std::uint64_t tick,
                                 const Snapshot* before = nullptr);
[[nodiscard]] Output render_pmon(const Snapshot& snapshot, const SmiRequest& request,
                                 Clockface clockface, std::uint64_t tick);
[[nodiscard]] std::string render_version(const Snapshot& snapshot);
/// --help-query-WHAT: "gpu", "compute-apps", …
[[nodiscard]] Output help_query(std::string_view what);

/// An answer to the request as a terminal may have it. Control characters are made visible, in JSON
/// as escapes that read back as they. The underline in topo's heading stays.
[[nodiscard]] std::string printable_answer(std::string_view text, const SmiRequest& request);

}  // namespace berth::smi

#include "view/manifest_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/json_archive.h"
#include "base/sentence.h"
#include "base/text.h"
#include "base/tr.h"
#include "snapshot/device_kind.h"
#include "snapshot/device_name.h"
#include "snapshot/questions.h"
#include "view/table.h"
#include "view/values.h"

namespace berth {

namespace {

/// Most of it is of no device: a file that is not there is not "not supported" by one.
std::string_view why_text(Absent why) {
  return why == Absent::unsupported ? tr("there is none, or nothing tells it") : reason_text(why);
}

/// Rows of one section; a reading that is absent says why.
class SectionRows {
 public:
  explicit SectionRows(std::string heading) { section_.heading = std::move(heading); }
  void add(std::string_view label, std::string value) {
    if (!value.empty()) section_.rows.push_back({std::string(label), std::move(value)});
  }
  template <class T, class Text>
  void add(std::string_view label, const Reading<T>& reading, Text text) {
    add(label, reading.get() ? std::string(text(*reading.get()))
                             : fmt::format("– ({})", why_text(reading.why())));
  }
  void add(std::string_view label, const Reading<std::string>& reading) {
    add(label, reading, [](const std::string& text) { return text.empty() ? "–" : text; });
  }
  ManifestSection take() { return std::move(section_); }

 private:
  ManifestSection section_;
};

/// Always in these, as runs stand beside each other.
std::string in_gibibytes(Bytes memory) { return bytes_beside(memory, Bytes(1ULL << 30)); }
std::string digits(std::uint64_t number) { return std::to_string(number); }
std::string on_off_text(bool on) { return std::string(on ? tr("on") : tr("off")); }

ManifestSection device_section(const Device& device, const Style& style) {
  SectionRows rows(name_for_people(device));
  rows.add(tr("Name"), device.name);
  rows.add(device.id.text() == device.uuid.get().value_or("") ? "UUID" : tr("Id"),
           device.id.text());
  rows.add(tr("Memory"), device.memory_total, in_gibibytes);
  const bool has_its_words = is_of(unnamed_vendor, device);
  if (has_its_words) rows.add(tr("Compute capability"), device.compute_capability, capability_text);
  rows.add("VBIOS", device.vbios_version);
  rows.add("ECC", device.ecc_mode, on_off_text);
  if (has_its_words) rows.add("MIG", device.mig_mode, on_off_text);
  if (has_its_words) rows.add(tr("Persistence mode"), device.persistence_mode, on_off_text);
  rows.add(tr("Power limit"), device.power_limit, power_text);
  if (has_its_words) rows.add(tr("Highest SM clock"), device.clock_sm_max, clock_text);
  rows.add(tr("Highest memory clock"), device.clock_memory_max, clock_text);
  std::string link(absent_mark(style));
  if (device.pcie_generation_max.get() && device.pcie_width.get()) {
    link = fmt::format("{} {} ×{}", tr("generation"), *device.pcie_generation_max.get(),
                       *device.pcie_width.get());
  }
  rows.add("PCIe", device.pci_address.get().value_or("") + "  " + link);
  rows.add(tr("NUMA node"), device.numa_node, digits);
  return rows.take();
}

void add_software(Runtime vendor, const Host& host, SectionRows& rows) {
  const DeviceKindFacts& facts = facts_of(vendor);
  const VendorSoftware& software = host.software_of(vendor);
  const std::string driver = trf("{} driver", facts.vendor);
  if (has_in_tree_driver(vendor, host)) {
    rows.add(driver, fmt::format("– ({})", tr(in_tree_driver)));
  } else {
    rows.add(driver, software.driver);
  }
  const bool is_installed = facts.runtime_version == RuntimeVersion::installed;
  rows.add(is_installed ? std::string(facts.runtime_name) : trf("{}, up to", facts.runtime_name),
           software.runtime);
}

ManifestSection machine_section(const Manifest& manifest) {
  SectionRows rows{std::string(tr("Machine"))};
  const MachineFacts& machine = manifest.machine;
  const Host& host = manifest.given.host;
  rows.add(tr("Host"), host.name);
  rows.add(tr("Type"), machine.instance_type);
  rows.add("CPU", machine.cpu_model);
  rows.add(tr("CPUs"), machine.cpu_count, digits);
  rows.add(tr("Main memory"), machine.memory_total, in_gibibytes);
  rows.add(tr("Operating system"), machine.operating_system);
  rows.add(tr("Kernel"), host.kernel);
  rows.add(tr("Container"), machine.container,
           [](const std::string& name) { return name.empty() ? std::string(tr("none")) : name; });
  const std::vector<Runtime> asked = vendors_asked(host);
  std::set<Runtime> vendors(asked.begin(), asked.end());
  for (const Device& device : manifest.given.devices) vendors.insert(facts_of(device.kind).runtime);
  vendors.erase(Runtime::none);
  for (const Runtime vendor : vendors) add_software(vendor, host, rows);
  return rows.take();
}

std::string versions_text(const std::vector<std::pair<std::string, std::string>>& versions) {
  return joined(versions, ", ", [](const auto& one) { return one.first + " " + one.second; });
}

/// Whether it was built for another maker's devices: "2.8.0+rocm6.4".
bool is_of_another_maker(const FrameworkFacts& framework) {
  return std::ranges::any_of(device_kinds(), [&](const DeviceKindFacts& facts) {
    const std::string_view mark = facts.torch.build_mark;
    return !mark.empty() && framework.version.find(mark) != std::string::npos;
  });
}

ManifestSection software_section(const Manifest& manifest) {
  SectionRows rows{std::string(tr("Software"))};
  if (manifest.python) {
    const PythonFacts& python = *manifest.python;
    rows.add("Python", python.version);
    rows.add(tr("Interpreter"), python.interpreter);
    rows.add(tr("Environment"), python.environment);
    for (const FrameworkFacts& one : python.frameworks) {
      if (is_of_another_maker(one)) continue;  // whose version says so
      rows.add(trf("CUDA of {}", one.name), one.cuda, [](const std::string& cuda) {
        return cuda.empty() ? std::string(tr("none: built without CUDA")) : cuda;
      });
    }
    rows.add(tr("Packages"), versions_text(python.packages));
  } else {
    rows.add("Python", std::string(tr("none was found")));
  }
  if (manifest.toolkit) {
    rows.add(tr("CUDA toolkit (nvcc)"), manifest.toolkit->nvcc_version);
    rows.add(tr("Libraries"), versions_text(manifest.toolkit->libraries));
  }
  return rows.take();
}

ManifestSection code_section(const Manifest& manifest) {
  SectionRows rows{std::string(tr("Code"))};
  if (!manifest.command.empty()) rows.add(tr("Command"), shell_joined(manifest.command));
  rows.add(tr("Directory"), manifest.working_directory);
  if (!manifest.wanted.empty()) rows.add(tr("Asked for"), manifest.wanted);
  if (manifest.git) {
    rows.add(tr("git commit"), manifest.git->commit);
    rows.add(tr("git branch"), manifest.git->branch);
    rows.add(tr("git work tree"), manifest.git->dirty, [](bool dirty) {
      return std::string(dirty ? tr("with changes not committed") : tr("nothing changed"));
    });
  } else {
    rows.add("git", std::string(tr("no git work tree")));
  }
  return rows.take();
}

ManifestSection variables_section(
    std::string_view heading, const std::vector<std::pair<std::string, std::string>>& variables) {
  SectionRows rows{std::string(heading)};
  for (const auto& [name, value] : variables) rows.add(name, value.empty() ? "''" : value);
  return rows.take();
}

}  // namespace

std::vector<ManifestSection> manifest_sections(const Manifest& manifest, const Style& style) {
  std::vector<ManifestSection> sections;
  for (const Device& device : manifest.given.devices) {
    sections.push_back(device_section(device, style));
  }
  sections.push_back(machine_section(manifest));
  sections.push_back(software_section(manifest));
  sections.push_back(code_section(manifest));
  for (auto& variables :
       {variables_section(tr("Variables"), manifest.variables),
        variables_section(tr("Variables set for the job"), manifest.variables_set)}) {
    if (!variables.rows.empty()) sections.push_back(variables);
  }
  return sections;
}

std::string render_manifest(const Manifest& manifest, const Style& style) {
  static constexpr TableColumn columns[] = {{.least = 22}, {.wraps = true}};
  std::string text = simulated_line(manifest.given.simulated, style);
  text += Line(style).add(date_time_text(manifest.started, style), Paint::dim).text();
  if (manifest.given.devices.empty()) {
    text += "\n" + wrapped("", own(tr("No device that a job could be given was seen."), style), 2,
                           style, Paint::yellow);
  }
  for (const ManifestSection& section : manifest_sections(manifest, style)) {
    text += "\n" + Line(style).add(outside(section.heading, style), Paint::bold).text();
    std::vector<TableRow> rows;
    for (const ManifestRow& row : section.rows) {
      rows.push_back({"  " + outside(row.label, style), outside(row.value, style)});
    }
    text += Table(columns, std::move(rows), 2, style).rows_text();
  }
  for (const Problem& problem : manifest.given.problems) {
    text += "\n" + warning_line(outside(problem.message.shown(), style), style);
  }
  return text;
}

// How two manifests differ: for people, and as JSON.

namespace {

constexpr Explains all_classes[] = {Explains::results, Explains::speed, Explains::neither};

Paint paint_of(Explains explains) {
  switch (explains) {
    case Explains::results:
      return Paint::red;
    case Explains::speed:
      return Paint::yellow;
    case Explains::neither:
      return Paint::dim;
  }
  return Paint::plain;
}

std::string found_text(const Difference& one, const ComparedNames& names, const Style& style) {
  const auto side = [&](const std::string& name, const Sentence& value) {
    return wrapped("    " + outside(name, style) + own(tr(": "), style),
                   outside(value.shown(), style), 6, style);
  };
  return wrapped("  ", outside(one.what.shown(), style), 4, style, Paint::bold) +
         side(names.a, one.in_a) + side(names.b, one.in_b);
}

/// The differences of one class. Each reason stands once, below all that it holds for.
std::string class_text(const ComparedNames& names, const ManifestDiff& differences, Explains wanted,
                       const Style& style) {
  if (!any_found(differences, wanted)) return "";
  std::string text = wrapped("", own(explains_heading(wanted), style), 2, style, paint_of(wanted));
  const auto& found = differences.found;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i].explains != wanted) continue;
    text += found_text(found[i], names, style);
    const bool goes_on =
        i + 1 < found.size() && found[i + 1].why == found[i].why && found[i + 1].explains == wanted;
    if (!goes_on) text += wrapped("    ", own(tr(found[i].why), style), 4, style, Paint::dim);
  }
  return text + "\n";
}

std::string_view side_name(NotComparable::Side side) {
  switch (side) {
    case NotComparable::Side::a:
      return "a";
    case NotComparable::Side::b:
      return "b";
    case NotComparable::Side::both:
      return "both";
  }
  return "both";
}

}  // namespace

std::string_view explains_heading(Explains explains) {
  switch (explains) {
    case Explains::results:
      return tr("Could explain other results");
    case Explains::speed:
      return tr("Could explain another speed, not other results");
    case Explains::neither:
      return tr("Explains neither by itself");
  }
  return "";
}

std::string not_comparable_text(const NotComparable& one, const ComparedNames& names) {
  switch (one.unknown_in) {
    case NotComparable::Side::a:
      return trf("not known in {}: {}", names.a, one.because.shown());
    case NotComparable::Side::b:
      return trf("not known in {}: {}", names.b, one.because.shown());
    case NotComparable::Side::both:
      return trf("cannot be compared: {}", one.because.shown());
  }
  return "";
}

std::string render_differences(const ComparedNames& names, const ManifestDiff& differences,
                               const Style& style) {
  std::string text;
  if (!any_found(differences, Explains::results)) {
    text += wrapped("", own(tr("Nothing was found that could explain other results."), style), 2,
                    style, Paint::green) +
            "\n";
  }
  for (const Explains wanted : all_classes) text += class_text(names, differences, wanted, style);
  if (!differences.unknown.empty()) {
    text += wrapped("", own(tr("Not comparable"), style), 2, style, Paint::yellow);
  }
  for (const NotComparable& one : differences.unknown) {
    text += wrapped("  " + outside(one.what.shown(), style) + "  ",
                    outside(not_comparable_text(one, names), style), 4, style);
  }
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

void write_differences(Archive& archive, const ComparedNames& names,
                       const ManifestDiff& differences) {
  archive.derived("a", names.a);
  archive.derived("b", names.b);
  archive.derived_list("differences", differences.found, [&](const Difference& one) {
    archive.derived("rule", one.rule);
    archive.derived("explains", name_of(one.explains));
    archive.derived("what", one.what.english());
    archive.derived("a", one.in_a.english());
    archive.derived("b", one.in_b.english());
    archive.derived("why", one.why);
  });
  archive.derived_list("not_comparable", differences.unknown, [&](const NotComparable& one) {
    archive.derived("rule", one.rule);
    archive.derived("could_explain", name_of(one.could_explain));
    archive.derived("what", one.what.english());
    archive.derived("unknown_in", side_name(one.unknown_in));
    archive.derived("because", one.because.english());
  });
}

std::string differences_json(const ComparedNames& names, const ManifestDiff& differences) {
  return write_json(JsonLayout::indented,
                    [&](Archive& archive) {
                      archive.derived("berth_differences", 1);
                      write_differences(archive, names, differences);
                    }) +
         "\n";
}

}  // namespace berth

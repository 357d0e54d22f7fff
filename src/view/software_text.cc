#include "view/software_text.h"

#include "base/text.h"
#include "base/tr.h"
#include "snapshot/questions.h"
#include "view/paint.h"

namespace berth {

namespace {

std::string driver_text(Runtime vendor, const Host& host, bool named, const Style& style) {
  const std::string_view name = facts_of(vendor).vendor;
  const auto& version = host.software_of(vendor).driver.get();
  if (!version && !has_in_tree_driver(vendor, host)) return {};
  if (!version) {
    const std::string in_tree(tr(in_tree_driver));
    return own(named ? fmt::format("{}: {}", name, in_tree) : in_tree, style);
  }
  const std::string words = named ? trf("{} driver", name) : std::string(tr("driver"));
  return own(words, style) + " " + outside(*version, style);
}

std::string runtime_text(Runtime vendor, const Host& host, SupportedWords words,
                         const Style& style) {
  const DeviceKindFacts& facts = facts_of(vendor);
  const auto& told = host.software_of(vendor).runtime.get();
  if (!told) return {};
  const std::string version = printable(*told);
  const bool is_installed = facts.runtime_version == RuntimeVersion::installed;
  if (is_installed || words == SupportedWords::number) {
    return own(fmt::format("{} {}", facts.runtime_name, version), style);
  }
  if (words == SupportedWords::limit) {
    return own(trf("{} up to {}", facts.runtime_name, version), style);
  }
  // Read as "CUDA 13.1 is installed" by everybody who sees nvidia-smi for the first time.
  return own(trf("{} up to {} (highest supported, not installed)", facts.runtime_name, version),
             style);
}

}  // namespace

std::vector<std::string> software_texts(const Host& host, SupportedWords words,
                                        const Style& style) {
  const std::vector<Runtime> vendors = vendors_asked(host);
  std::vector<std::string> texts;
  const auto add = [&](std::string text) {
    if (!text.empty()) texts.push_back(std::move(text));
  };
  for (const Runtime vendor : vendors) {
    add(driver_text(vendor, host, vendors.size() > 1, style));
    add(runtime_text(vendor, host, words, style));
  }
  return texts;
}

}  // namespace berth

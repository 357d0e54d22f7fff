// The panel of one device: every reading that it has, by the key that `berth --fields` lists.

#include <fmt/format.h>

#include "base/text.h"
#include "base/tr.h"
#include "snapshot/fields.h"
#include "top/painter.h"
#include "view/paint.h"
#include "view/values.h"

namespace berth::top {

namespace {

template <class T, class Text>
std::string as(const Scalar& value, Text text) {
  const auto read = FromCell<T>::read(value);
  return read ? std::string(text(*read)) : std::string();
}

/// In words, if people have words for that unit. A mere count is a number.
std::string value_text(const Scalar& value, Unit unit, const Style& style) {
  switch (unit) {
    case Unit::bytes:
      return as<Bytes>(value, bytes_text);
    case Unit::bytes_per_second:
      return as<Bytes>(value, [](Bytes rate) { return bytes_text(rate) + "/s"; });
    case Unit::percent:
      return as<Percent>(value, percent_text);
    case Unit::celsius:
      return as<Celsius>(value, [&](Celsius heat) { return temperature_text(heat, style); });
    case Unit::milliwatts:
      return as<Milliwatts>(value, power_text);
    case Unit::millijoules:
      return as<Millijoules>(value, energy_text);
    case Unit::megahertz:
      return as<Megahertz>(value, clock_text);
    case Unit::none:
    case Unit::count:
    case Unit::bits:
    case Unit::microseconds:
    case Unit::milliseconds:
    case Unit::seconds:
    case Unit::millivolts:
      break;
  }
  return std::visit(
      [](const auto& one) -> std::string {
        using Value = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<Value, bool>) {
          return std::string(one ? tr("yes") : tr("no"));
        } else if constexpr (std::is_same_v<Value, std::string>) {
          return printable(one);
        } else {
          return fmt::format("{}", one);
        }
      },
      value);
}

}  // namespace

std::vector<PanelLine> device_lines(const Painter& painter) {
  const std::vector<const Device*> shown = shown_devices(painter.state);
  if (painter.state.focus >= shown.size()) return {};
  const Device& device = *shown[painter.state.focus];
  const Style& style = painter.style;
  std::vector<PanelLine> lines = {
      {trf("GPU {}", short_name(device)) + "  " + printable(device.name.get().value_or("")),
       Tone::bold}};
  for (const Field& field : fields()) {
    const berth::Cell cell = field.read(device, painter.state.seen->snapshot);
    if (!cell.get()) continue;
    const std::string value = value_text(*cell.get(), field.unit, style);
    if (value.empty()) continue;
    add_lines(lines, labelled(field.key, 38, own(value, style), style));
  }
  return lines;
}

}  // namespace berth::top

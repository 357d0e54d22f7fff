// -q as text, as XML and as JSON: three ways to print one tree.

#include <fmt/format.h>

#include <string>

#include "base/text.h"
#include "smi/facts.h"
#include "smi/generation.h"
#include "smi/layout.h"
#include "smi/layout_items.h"
#include "smi/smi.h"
#include "smi/tree.h"

namespace berth::smi {

namespace {

/// Where the colons of processes stand: there they stayed as others moved.
constexpr std::size_t processes_column = 42;

void print_line(const Node& node, std::size_t indent, std::size_t column, std::string& text) {
  const std::string label = std::string(indent, ' ') + node.name;
  if (node.section && node.value.empty()) {
    text += label + "\n";
  } else {
    text += fmt::format("{:<{}}: {}\n", label, column, node.value);
  }
}

void print_text(const Node& node, std::size_t indent, std::size_t column, std::string& text) {
  print_line(node, indent, column, text);
  const bool processes = indent == 4 && node.name == "Processes";
  for (const Node& child : node.children) {
    print_text(child, indent + 4, processes ? processes_column : column, text);
  }
}

std::string escaped_xml(std::string_view raw) {
  std::string text;
  for (const char c : raw) {
    if (c == '&') {
      text += "&amp;";
    } else if (c == '<') {
      text += "&lt;";
    } else if (c == '>') {
      text += "&gt;";
    } else {
      text += c;
    }
  }
  return text;
}

void print_xml(const Node& node, std::size_t depth, std::string& text) {
  const std::string indent(depth, '\t');
  if (!node.section && node.children.empty()) {
    text += fmt::format("{0}<{1}>{2}</{1}>\n", indent, node.name, escaped_xml(node.value));
    return;
  }
  text += fmt::format("{}<{}>\n", indent, node.name);
  if (!node.value.empty()) text += fmt::format("{}\t{}\n", indent, escaped_xml(node.value));
  for (const Node& child : node.children) {
    const bool beside = child.name == instance_tag;  // it stands as deep as the list of them
    print_xml(child, beside ? depth : depth + 1, text);
  }
  text += fmt::format("{}</{}>\n", indent, node.name);
}

std::string quoted_json(std::string_view raw) {
  std::string text = "\"";
  for (const char c : valid_utf8(raw)) {
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      text += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      text += c;
    }
  }
  return text + '"';
}

void print_json(const Node& node, std::size_t depth, std::string& text);

void print_members(const Node& node, std::size_t depth, std::string& text) {
  const std::string indent(depth * 2, ' ');
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    const std::string& name = node.children[i].name;
    text += (i == 0 ? "\n" : ",\n") + indent + quoted_json(name) + ": ";
    if (!is_repeated(name)) {
      print_json(node.children[i], depth, text);
      continue;
    }
    text += "[";
    for (const std::size_t first = i; i < node.children.size() && node.children[i].name == name;
         ++i) {
      text += (i == first ? "\n" : ",\n") + indent + "  ";
      print_json(node.children[i], depth + 1, text);
    }
    --i;
    text += "\n" + indent + "]";
  }
}

void print_json(const Node& node, std::size_t depth, std::string& text) {
  if (node.children.empty()) {
    const bool nothing = node.section && node.value.empty();
    text += nothing ? "{}" : quoted_json(node.value);
    return;
  }
  text += "{";
  print_members(node, depth + 1, text);
  text += "\n" + std::string(depth * 2, ' ') + "}";
}

Selection selection_for(const SmiRequest& request, Surface surface) {
  return {.surface = surface, .topics = surface == Surface::text ? &request.sections : nullptr};
}

std::vector<const Device*> devices_for(const Snapshot& snapshot, const SmiRequest& request) {
  return chosen(snapshot, request.devices).value_or(std::vector<const Device*>{});
}

Node whole_tree(const Snapshot& snapshot, const SmiRequest& request, Clockface clockface) {
  const Selection selection = selection_for(request, Surface::xml);
  Node root{"nvidia_smi_log", "", heading(snapshot, selection, clockface), true};
  for (const Device* device : devices_for(snapshot, request)) {
    Node gpu = device_tree(snapshot, *device, selection);
    gpu.name = "gpu";
    gpu.value = address_of(*device);
    gpu.section = true;
    root.children.push_back(std::move(gpu));
  }
  return root;
}

}  // namespace

std::string render_query(const Snapshot& snapshot, const SmiRequest& request, Clockface clockface) {
  const Selection selection = selection_for(request, Surface::text);
  const std::size_t column = generation_of(snapshot).colon;
  std::string text = "\n==============NVSMI LOG==============\n\n";
  for (const Node& line : heading(snapshot, selection, clockface)) {
    if (line.name == heading_line::gpus.label) text += "\n";
    print_line(line, 0, column, text);
  }
  for (const Device* device : devices_for(snapshot, request)) {
    text += "GPU " + address_of(*device) + "\n";
    for (const Node& node : device_tree(snapshot, *device, selection).children) {
      print_text(node, 4, column, text);
    }
    text += "\n";
  }
  return text;
}

std::string render_xml(const Snapshot& snapshot, const SmiRequest& request, Clockface clockface) {
  std::string text = fmt::format(
      "<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v{}.dtd\">\n"
      "<nvidia_smi_log>\n",
      generation_of(snapshot).dtd);
  for (const Node& node : whole_tree(snapshot, request, clockface).children) {
    if (node.name != "gpu") {
      print_xml(node, 1, text);
      continue;
    }
    text += fmt::format("\t<gpu id=\"{}\">\n", node.value);
    for (const Node& child : node.children) print_xml(child, 2, text);
    text += "\t</gpu>\n\n";
  }
  return text + "</nvidia_smi_log>\n";
}

std::string render_json(const Snapshot& snapshot, const SmiRequest& request, Clockface clockface) {
  Node root = whole_tree(snapshot, request, clockface);
  for (Node& node : root.children) {
    if (node.name != "gpu") continue;
    node.children.insert(node.children.begin(), Node{"id", node.value, {}, false});
    node.value.clear();
  }
  std::string text = "{\n";
  if (snapshot.simulated) text += "  \"simulated\": true,\n";
  text += "  \"nvidia_smi_log\": ";
  print_json(root, 1, text);
  return text + "\n}\n";
}

}  // namespace berth::smi

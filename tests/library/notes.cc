// A host whose on_note throws: the look that it hears something of goes on.
#include <berth/berth.hpp>
#include <cstdio>
#include <stdexcept>

int main() {
  int heard = 0;
  berth::Options options;
  options.on_note = [&](std::string_view) {
    ++heard;
    throw std::runtime_error("the host's own");
  };
  auto opened = berth::Berth::open(std::move(options));
  if (!opened) return 1;
  for (int look = 1; look <= 2; ++look) {
    const auto seen = opened->look();
    if (!seen) return std::fprintf(stderr, "%s\n", seen.error().message().c_str());
    if (heard != look) return std::fprintf(stderr, "it heard %d sentences\n", heard);
  }
}

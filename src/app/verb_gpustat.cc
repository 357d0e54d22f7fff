// `berth gpustat …`, and berth called by the name gpustat.

#include <cstdio>

#include "app/smi_session.h"
#include "app/verb.h"
#include "smi/gpustat.h"
#include "view/refresh.h"

namespace berth {

namespace {

class GpustatVerb final : public Verb {
 public:
  void declare(Options&) override {}
  [[nodiscard]] bool takes_words_as_they_are() const override { return true; }

  int run(Context& context, const std::vector<std::string>& words) override {
    const smi::GpustatRequest request = smi::parse_gpustat(words);
    if (request.said) return say(*request.said);
    const bool counts = smi::prints_cpu(request);
    ContextSource source(context, request.every.has_value() || counts);
    std::optional<std::string> before;
    std::optional<Snapshot> earlier;  // where something is counted since
    int code = exit_code::ok;
    const auto once = [&](std::uint64_t) {
      if (counts && !earlier) {
        earlier = source.look(smi::wanted_before(request));
        context.clock().wait_until(context.clock().now() + as_long_as_gpustat_counts);
      }
      const Snapshot snapshot = source.look(smi::wanted_by(request));
      if (const auto failure = smi::gpustat_failure(snapshot, request)) {
        std::fputs(failure->c_str(), stderr);
        code = exit_code::failed;
        return false;
      }
      show(context, request, {&snapshot, earlier ? &*earlier : nullptr}, before);
      if (counts) earlier = snapshot;
      return finish_output();
    };
    if (!request.every) {
      once(0);
      return code;
    }
    static_cast<void>(again_and_again(context, *request.every, std::nullopt, once));
    return code;
  }

 private:
  static int say(const smi::Output& said) {
    if (said.code == exit_code::ok) {
      print(said.text);
    } else {
      std::fputs(said.text.c_str(), stderr);
    }
    return said.code;
  }

  static constexpr std::chrono::milliseconds as_long_as_gpustat_counts{100};

  struct Looks {
    const Snapshot* now;
    const Snapshot* before;
  };
  static void show(Context& context, const smi::GpustatRequest& request, Looks looks,
                   std::optional<std::string>& before) {
    if (request.json) {
      print(smi::render_gpustat_json(*looks.now, request, clockface_of(context), looks.before));
      return;
    }
    const bool colour = request.colour.value_or(context.out().colour);
    const std::string text =
        smi::render_gpustat(*looks.now, request, colour, clockface_of(context), looks.before);
    if (!request.every || !context.stdout_moves()) {
      print(text);
      return;
    }
    const std::string picture = fit_to_height(text, context.terminal_rows(), context.out());
    print(redraw(picture, before));
    before = picture;
  }
};

}  // namespace

std::unique_ptr<Verb> make_gpustat() { return std::make_unique<GpustatVerb>(); }

}  // namespace berth

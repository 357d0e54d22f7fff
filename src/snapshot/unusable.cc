#include "snapshot/unusable.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/tr.h"

namespace berth {

namespace {

struct KindOfUnusable {
  Unusable kind;
  std::string_view english;
};
/// Stored and sent as they stand: once one is reworded, older files have its kind as `other`.
constexpr auto fixed_texts = std::to_array<KindOfUnusable>({
    {Unusable::none, ""},
    {Unusable::silent, as_key("it does not answer")},
    {Unusable::unanswered, as_key("the driver does not answer for it")},
    {Unusable::asleep, as_key("it sleeps, and was not woken up to be asked")},
    {Unusable::no_driver, as_key("no kernel driver is bound to it")},
    {Unusable::nouveau, as_key("the nouveau driver has it; CUDA needs NVIDIA's own driver")},
    {Unusable::library_silent, as_key("NVIDIA's library does not answer")},
    {Unusable::must_be_reset, as_key("it must be reset first")},
    {Unusable::unlisted, as_key("the driver lists it no longer")},
    {Unusable::left_out, as_key("left out by its administrator (the driver's exclusion list)")},
    {Unusable::kept_from_us,
     as_key("the nvidia driver has it, but this process is kept from it (a container, a control "
            "group or `berth run --isolate`)")},
    {Unusable::given_to_machine, as_key("given to a virtual machine (vfio-pci)")},
});

}  // namespace

WhyUnusable::WhyUnusable(Sentence said) {
  const auto found = std::ranges::find(fixed_texts, said.english(), &KindOfUnusable::english);
  kind_ = found == fixed_texts.end() ? Unusable::other : found->kind;
  if (kind_ == Unusable::other) other_ = std::move(said);
}

Sentence WhyUnusable::said() const {
  const auto found = std::ranges::find(fixed_texts, kind_, &KindOfUnusable::kind);
  return found == fixed_texts.end() ? other_ : Sentence(found->english);
}

void put(Archive& archive, WhyUnusable& why) {
  Sentence said = why.said();
  put(archive, said);
  if (archive.is_reading()) why = WhyUnusable(std::move(said));
}

}  // namespace berth

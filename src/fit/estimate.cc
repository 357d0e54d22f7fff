#include "fit/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/text.h"

namespace berth {

namespace {

// Beyond this nothing is told apart: an exbibyte.
constexpr double most_bytes = 1152921504606846976.0;

Bytes bytes_of(double count) {
  return Bytes(static_cast<std::uint64_t>(std::clamp(count, 0.0, most_bytes)));
}

constexpr double context_low = 300.0 * (1 << 20);
constexpr double context_high = 1024.0 * (1 << 20);

double weight_bytes(Precision precision) {
  switch (precision) {
    case Precision::fp32:
    case Precision::tf32:
      return 4;
    case Precision::fp16:
    case Precision::bf16:
      return 2;
    case Precision::fp8:
    case Precision::int8:
      return 1;
    case Precision::int4:
      return 0.5;
  }
  return 4;
}

/// "4.16", "4.127 – 4.5".
std::string bits_words(const FourBits& form) {
  return form.least == form.most ? fmt::format("{:.4g}", form.least)
                                 : fmt::format("{:.4g} – {:.4g}", form.least, form.most);
}

/// What products and what flows between layers are kept in.
double flow_bytes(Precision precision, bool mixed) {
  if (mixed) return 2;
  return std::max(weight_bytes(precision), 2.0);
}

Precision precision_for(const Model& model, const Workload& workload) {
  if (workload.precision) return *workload.precision;
  const Precision stored = model.stored_as.value_or(Precision::bf16);
  // Nothing is trained in 8 bits; autocast, and products with 4-bit weights, are for 16.
  const bool for_16_bits = workload.mixed || workload.adapter == Adapter::qlora;
  const bool too_small = workload.trains && weight_bytes(stored) < 2;
  const bool too_wide = for_16_bits && weight_bytes(stored) > 2;
  return too_small || too_wide ? Precision::bf16 : stored;
}

class Adder {
 public:
  Adder(const Model& model, const Workload& workload)
      : model_(model), workload_(workload), precision_(precision_for(model, workload)) {
    estimate_.precision = precision_;
  }

  Estimate take() && {
    add_static_parts();
    add_flow();
    add_overhead();
    for (const PartSize& part : estimate_.parts) {
      estimate_.total.low += part.size.low;
      estimate_.total.high += part.size.high;
    }
    if (estimate_.at_least) estimate_.total.high = Bytes(std::numeric_limits<std::uint64_t>::max());
    return std::move(estimate_);
  }

 private:
  void add(MemoryPart part, double low, double high) {
    if (high >= 1) estimate_.parts.push_back({part, {bytes_of(low), bytes_of(high)}});
  }
  void assume(Sentence text, std::string formula = "", std::string source = "") {
    estimate_.assumptions.push_back({std::move(text), std::move(formula), std::move(source)});
  }
  [[nodiscard]] double share(bool divided) const {
    return divided ? 1.0 / static_cast<double>(workload_.gpus) : 1.0;
  }
  [[nodiscard]] bool shards(Sharding from) const {
    const bool tensor = workload_.sharding == Sharding::tensor_parallel;
    return tensor || (workload_.sharding >= from && workload_.sharding != Sharding::none);
  }
  [[nodiscard]] double count() const { return static_cast<double>(model_.parameters.value_or(0)); }
  /// The embeddings at both ends, which stay in 16 bits where the rest is quantised.
  [[nodiscard]] double embeddings() const {
    if (!model_.shape) return 0;
    return std::min(count(), (model_.tied ? 1.0 : 2.0) *
                                 static_cast<double>(model_.shape->vocabulary) *
                                 static_cast<double>(model_.shape->hidden));
  }

  /// Query, key, value and output of all layers.
  [[nodiscard]] double attention() const {
    if (!model_.shape) return 0;
    const ModelShape& shape = *model_.shape;
    return 2.0 * static_cast<double>(shape.layers) * static_cast<double>(shape.hidden) *
           static_cast<double>(shape.head_size) * static_cast<double>(shape.heads + shape.kv_heads);
  }

  void add_four_bits(const FourBits& form, double part) {
    const double ends = embeddings();
    const double wide = form.keeps_attention ? std::min(attention(), count() - ends) : 0;
    const double end_bits = model_.tied ? form.head : (form.embedding + form.head) / 2;
    const double kept = (ends * end_bits + wide * 16) / 8;
    const double packed = (count() - ends - wide) / 8;
    add(MemoryPart::weights, (packed * form.least + kept) * part,
        (packed * form.most + kept) * part);
    const std::string formula =
        fmt::format("({} · w + {:.4g} · e) / 8", bits_words(form), end_bits);
    assume(form.name.empty()
               ? sentence("4-bit weights have a scale for each group of them; embeddings stay in "
                          "16 bits")
               : sentence("4-bit weights as {} stores them", form.name),
           formula, std::string(form.source));
    // llama.cpp takes another type for rows that are no whole blocks.
    const bool whole_blocks = !model_.shape || model_.shape->hidden % 256 == 0;
    if (form.name == "q4_k_m" && !whole_blocks) {
      assume(
          sentence("its rows are no multiple of 256 weights. llama.cpp stores some of them in 5 to "
                   "8 bits, which is not counted"));
    }
  }

  void add_static_parts() {
    if (workload_.adapter != Adapter::none) return add_adapters();
    const double weights = share(shards(Sharding::zero3));
    if (!workload_.trains) return add_stored_weights(weights);
    if (workload_.mixed) return add_mixed(weights);
    const double each = weight_bytes(precision_);
    add(MemoryPart::weights, each * count() * weights, each * count() * weights);
    add_gradients(each, each);
    add_optimizer(each);
    assume(sentence("weights, gradients and the optimiser's state are all kept in {}; mixed "
                    "precision with FP32 master weights: --mixed",
                    name_of(precision_)),
           "", "PyTorch, torch.optim");
  }

  void add_stored_weights(double part) {
    if (model_.stored_bytes && !workload_.precision) {
      const double stored = static_cast<double>(*model_.stored_bytes) * part;
      add(MemoryPart::weights, stored, stored);
      assume(sentence("the weights take what they take in their files"));
      return;
    }
    if (precision_ == Precision::int4) {
      return add_four_bits(
          workload_.four_bits ? *workload_.four_bits : model_.four_bits.value_or(FourBits{}), part);
    }
    const double each = weight_bytes(precision_);
    const double kept = each < 2 ? embeddings() : 0;
    const double bytes = (each * (count() - kept) + 2 * kept) * part;
    add(MemoryPart::weights, bytes, bytes);
    if (kept > 0) {
      assume(sentence("every weight but the embeddings is kept in {}, these in 16 bits",
                      name_of(precision_)));
    } else {
      assume(sentence("every weight is kept in {}", name_of(precision_)));
    }
  }

  /// ZeRO counts 16-bit gradients (16 bytes per parameter with Adam); autocast keeps them in FP32
  /// and casts weights as it goes (18).
  void add_mixed(double weights) {
    add(MemoryPart::weights, 2 * count() * weights, 2 * count() * weights);
    const double master = 4 * count() * share(shards(Sharding::zero1));
    add(MemoryPart::master_weights, master, master);
    add_gradients(2, 4);
    add_optimizer(4);
    assume(sentence("mixed precision: {} weights for the products, FP32 master weights and "
                    "optimiser state, gradients in 16 or 32 bits",
                    name_of(precision_)),
           "Adam: 2 + 2 + 12 bytes · parameters (autocast: 2 + 4 + 12)",
           "Rajbhandari et al. 2020 (ZeRO), 3.1");
  }

  void add_gradients(double low, double high) {
    const double part = share(shards(Sharding::zero2)) * count();
    add(MemoryPart::gradients, low * part, high * part);
    if (workload_.gpus > 1 && workload_.sharding == Sharding::none) {
      add(MemoryPart::buckets, 0, high * part);
      assume(
          sentence("data parallel training gathers gradients in buckets, unless they are views of "
                   "the gradients"),
          "", "PyTorch, DistributedDataParallel, gradient_as_bucket_view");
    }
  }

  void add_optimizer(double each) {
    const double part = share(shards(Sharding::zero1)) * count();
    switch (workload_.optimizer) {
      case Optimizer::none:
      case Optimizer::sgd:
        return;
      case Optimizer::adam:
        return add(MemoryPart::optimizer, 2 * each * part, 2 * each * part);
      case Optimizer::sgd_momentum:
        return add(MemoryPart::optimizer, each * part, each * part);
      case Optimizer::adam8bit:
        assume(sentence("8-bit Adam has two bytes per parameter and two scales per block"),
               "(2 + 8/256) bytes · parameters",
               "Dettmers et al. 2022, bitsandbytes (blocks of 256)");
        return add(MemoryPart::optimizer, 2 * part, (2 + 8.0 / 256) * part);
      case Optimizer::adafactor:
        assume(sentence("Adafactor keeps rows and columns of the second moments only, and no first "
                        "moments"),
               "0 – 0.02 bytes · parameters", "Shazeer and Stern 2018");
        return add(MemoryPart::optimizer, 0, 0.02 * part);
    }
  }

  void add_adapters() {
    const double part = share(shards(Sharding::zero3));
    if (workload_.adapter == Adapter::qlora) {
      add_four_bits(four_bits_called("nf4").value_or(FourBits{}), part);
    } else {
      const double each = weight_bytes(precision_);
      add(MemoryPart::weights, each * count() * part, each * count() * part);
      assume(sentence("the model's own weights are frozen, in {}", name_of(precision_)));
    }
    if (!model_.shape) {
      assume(sentence("what the adapters take cannot be told without the model's shape"));
      return;
    }
    const double unit = static_cast<double>(model_.shape->layers) *
                        static_cast<double>(model_.shape->hidden) *
                        static_cast<double>(workload_.rank);
    const double trained_low = 4 * unit;
    const double trained_high = 20 * unit;
    const double each = 4;  // adapters are trained in FP32
    add(MemoryPart::adapters, each * trained_low * part, each * trained_high * part);
    add(MemoryPart::gradients, each * trained_low * part, each * trained_high * part);
    add(MemoryPart::optimizer, 2 * each * trained_low * part, 2 * each * trained_high * part);
    assume(
        sentence("adapters of rank {}: on query and value (low) or on every linear layer (high), "
                 "trained with Adam in FP32",
                 workload_.rank),
        "4·L·h·r – 20·L·h·r parameters · 16 bytes", "Hu et al. 2021 (LoRA)");
  }

  void add_flow() {
    if (!model_.shape) {
      estimate_.at_least = true;
      assume(model_.encoder ? sentence("activations are not counted: they grow with the pictures")
             : workload_.trains
                 ? sentence("activations are missing: the model's shape is not known (--layers, "
                            "--hidden, --heads)")
                 : sentence("the KV cache is missing: the model's shape is not known (--layers, "
                            "--hidden, --heads)"));
      return;
    }
    if (!model_.shape_like.empty()) {
      assume(sentence("shape as of {}: {} layers of {}, {} heads ({} of keys), {} words",
                      model_.shape_like, model_.shape->layers, model_.shape->hidden,
                      model_.shape->heads, model_.shape->kv_heads, model_.shape->vocabulary));
    }
    if (workload_.trains) {
      add_activations();
    } else {
      add_inference();
    }
  }

  void add_activations() {
    const ModelShape& shape = *model_.shape;
    const double s = static_cast<double>(workload_.sequence);
    const double b = static_cast<double>(workload_.batch);
    const double h = static_cast<double>(shape.hidden);
    const double a = static_cast<double>(shape.heads);
    const double layers = static_cast<double>(shape.layers);
    const double t =
        workload_.sharding == Sharding::tensor_parallel ? static_cast<double>(workload_.gpus) : 1.0;
    // The formula counts 16-bit activations; FP32 ones are twice as large.
    const double scale = flow_bytes(precision_, workload_.mixed) / 2;
    const double with_flash = s * b * h * (10 + 24 / t) * scale;
    const double without = s * b * h * (10 + 24 / t + 5 * a * s / (h * t)) * scale;
    const double logits = s * b * static_cast<double>(shape.vocabulary);
    if (workload_.checkpointing) {
      const double kept = 2 * s * b * h * layers * scale;
      add(MemoryPart::activations, kept + with_flash + 4 * logits, kept + without + 10 * logits);
      assume(sentence("with activation checkpointing each layer's input is kept, and one layer's "
                      "activations at a time"),
             "2·s·b·h·L + s·b·h·34", "Korthikanti et al. 2022, 5.1");
    } else {
      add(MemoryPart::activations, with_flash * layers + 4 * logits,
          without * layers + 10 * logits);
    }
    assume(
        sentence("activations of {} sequences of {} tokens per GPU; low: attention that keeps no "
                 "s×s matrix (FlashAttention), high: with it",
                 workload_.batch, workload_.sequence),
        t > 1 ? "L·s·b·h·(10 + 24/t) – L·s·b·h·(10 + 24/t + 5·a·s/(h·t))"
              : "L·s·b·h·34 – L·s·b·h·(34 + 5·a·s/h)",
        "Korthikanti et al. 2022, (1), (2)");
    assume(sentence("logits in FP32 once (low), or with a 16-bit copy and their gradients (high)"),
           "4·s·b·v – 10·s·b·v");
  }

  void add_inference() {
    const ModelShape& shape = *model_.shape;
    const double s = static_cast<double>(workload_.sequence);
    const double b = static_cast<double>(workload_.batch);
    const double h = static_cast<double>(shape.hidden);
    const double divided = share(workload_.sharding == Sharding::tensor_parallel);
    const double each = flow_bytes(precision_, false);
    if (!model_.encoder) add_cache(each);
    const double logits = 4 * b * static_cast<double>(shape.vocabulary);
    add(MemoryPart::activations, 4 * s * b * h * each * divided + logits,
        8 * s * b * h * each * divided + logits);
    assume(sentence("while a prompt is read, one layer's activations and the logits of its last "
                    "token alone. Attention keeps no s×s matrix (FlashAttention, SDPA)"),
           "4·s·b·h·bytes + 4·b·v – 8·s·b·h·bytes + 4·b·v");
  }

  void add_cache(double each) {
    const ModelShape& shape = *model_.shape;
    // A head of keys is not divided: from as many GPUs on each has one of them, again and again.
    const double share_of_heads =
        std::max(share(workload_.sharding == Sharding::tensor_parallel),
                 1.0 / static_cast<double>(std::max<std::uint64_t>(shape.kv_heads, 1)));
    const CacheForm& form = model_.cache;
    const double s = static_cast<double>(workload_.sequence);
    const double tokens = s * static_cast<double>(workload_.batch);
    if (form.latent > 0) {
      const double cache =
          static_cast<double>(shape.layers) * static_cast<double>(form.latent) * tokens * each;
      add(MemoryPart::kv_cache, cache, cache);
      assume(sentence("one compressed row per token and layer (MLA), whole on each GPU"),
             "L·(kv_lora_rank + qk_rope_head_dim)·s·b·bytes",
             "DeepSeek-AI 2024 (DeepSeek-V2), 2.1");
      return;
    }
    const double row = 2 * static_cast<double>(shape.kv_heads) *
                       static_cast<double>(shape.head_size) * each * share_of_heads;
    const double b = static_cast<double>(workload_.batch);
    const double windowed = static_cast<double>(form.windowed_layers);
    const double whole = static_cast<double>(shape.layers) - windowed;
    double cache =
        row * (whole * tokens + windowed * std::min(s, static_cast<double>(form.window)) * b);
    if (form.crosses) {
      const double read = form.read_tokens > 0 ? static_cast<double>(form.read_tokens) : s;
      cache += row * static_cast<double>(shape.layers) * read * b;
      assume(sentence("the decoder keeps keys and values of what the encoder read too"));
    }
    add(MemoryPart::kv_cache, cache, cache);
    if (form.windowed_layers > 0) {
      assume(sentence("{} of {} layers keep keys and values of no more than {} tokens",
                      form.windowed_layers, shape.layers, form.window));
    }
    assume(sentence("keys and values of {} sequences of {} tokens", workload_.batch,
                    workload_.sequence),
           "2·L·kv_heads·head_size·s·b·bytes");
  }

  void add_overhead() {
    add(MemoryPart::context, context_low, context_high);
    assume(
        sentence("the runtime's context and its libraries' workspaces take 300 MB to 1 GB, as "
                 "CUDA's do"));
    double moving = 0;
    for (const PartSize& part : estimate_.parts) {
      if (part.part != MemoryPart::context) moving += static_cast<double>(part.size.high.count());
    }
    add(MemoryPart::allocator, 0, 0.1 * moving);
    assume(sentence("the allocator's fragmentation takes up to a tenth of the rest"));
    if (workload_.sharding != Sharding::none && workload_.gpus > 1) {
      assume(sentence("{} over {} GPUs; what is gathered for the layer at work is not counted",
                      name_of(workload_.sharding), workload_.gpus),
             "", "Rajbhandari et al. 2020 (ZeRO); Shoeybi et al. 2019 (tensor parallel)");
    }
  }

  const Model& model_;
  const Workload& workload_;
  Precision precision_;
  Estimate estimate_;
};

}  // namespace

std::optional<ByteRange> Estimate::of(MemoryPart wanted) const {
  for (const PartSize& part : parts) {
    if (part.part == wanted) return part.size;
  }
  return std::nullopt;
}

Estimate estimate(const Model& model, const Workload& workload) {
  return Adder(model, workload).take();
}

Verdict verdict_of(const ByteRange& need, Bytes room) {
  if (need.high <= room) return Verdict::fits;
  return need.low <= room ? Verdict::tight : Verdict::too_small;
}

}  // namespace berth

// What a config.json says of published models, against what is published of them.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "fit/estimate.h"
#include "fit/published_int4_test.h"
#include "fit/published_sizes_test.h"

namespace berth {
namespace {

using namespace published;

/// A model's config, as far as its memory depends on it, and its published size.
struct Published {
  const char* name;
  const char* config;
  double billions;
  const char* source;  // with the day on which it was read
};

constexpr auto published = std::to_array<Published>({
    {"DeepSeek-V3", deepseek_v3, 685, "https://generator-hub.com/blog/6787, 2026-11-24"},
    {"Qwen3-30B-A3B", R"({"model_type": "qwen3_moe", "hidden_size": 2048,
         "intermediate_size": 6144, "moe_intermediate_size": 768, "num_hidden_layers": 48,
         "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128,
         "num_experts": 128, "decoder_sparse_step": 1, "vocab_size": 151936})",
     30.5, "https://apxml.com/models/qwen3-30b-a3b, 2026-11-24"},
    {"gpt-oss-20b", gpt_oss_20b, 20.9,
     "https://aiwartracker.com/papers/gpt-oss-model-card, 2026-11-24"},
    {"gpt-oss-120b", R"({"model_type": "gpt_oss", "hidden_size": 2880, "num_hidden_layers": 36,
         "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64,
         "intermediate_size": 2880, "num_local_experts": 128, "vocab_size": 201088})",
     116.8, "https://aiwartracker.com/papers/gpt-oss-model-card, 2026-11-24"},
    {"Llama 4 Scout", llama4_scout, 109, "https://www.modelcards.net/documents/31, 2026-11-24"},
    {"Llama 4 Maverick", R"({"model_type": "llama4", "text_config": {"hidden_size": 5120,
         "intermediate_size": 8192, "intermediate_size_mlp": 16384, "num_hidden_layers": 48,
         "num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128,
         "num_local_experts": 128, "interleave_moe_layer_step": 2, "vocab_size": 202048}})",
     400, "https://www.modelcards.net/documents/31, 2026-11-24"},
    {"phi-4", R"({"model_type": "phi3", "hidden_size": 5120, "intermediate_size": 17920,
         "num_hidden_layers": 40, "num_attention_heads": 40, "num_key_value_heads": 10,
         "vocab_size": 100352})",
     14.7, "https://huggingface.co/cortexso/phi-4, 2026-11-24"},
    {"Phi-3-mini", R"({"model_type": "phi3", "hidden_size": 3072, "intermediate_size": 8192,
         "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32,
         "vocab_size": 32064})",
     3.82,
     "https://huggingface.co/flyfishstudio/Phi-3.1-mini-4k-instruct-Q4_0_4_8.gguf, 2026-11-24"},
    {"Whisper small", whisper_small, 0.244, "https://huggingface.co/jerpint/whisper, 2026-11-24"},
    {"Whisper medium", R"({"model_type": "whisper", "d_model": 1024, "encoder_layers": 24,
         "decoder_layers": 24, "decoder_attention_heads": 16, "encoder_ffn_dim": 4096,
         "decoder_ffn_dim": 4096, "num_mel_bins": 80, "vocab_size": 51865})",
     0.769, "https://huggingface.co/jerpint/whisper, 2026-11-24"},
    {"Whisper large", R"({"model_type": "whisper", "d_model": 1280, "encoder_layers": 32,
         "decoder_layers": 32, "decoder_attention_heads": 20, "encoder_ffn_dim": 5120,
         "decoder_ffn_dim": 5120, "num_mel_bins": 128, "vocab_size": 51866})",
     1.55, "https://huggingface.co/jerpint/whisper, 2026-11-24"},
    {"Stable Diffusion 1.5's UNet", R"({"_class_name": "UNet2DConditionModel", "in_channels": 4,
         "out_channels": 4, "block_out_channels": [320, 640, 1280, 1280], "layers_per_block": 2,
         "cross_attention_dim": 768, "down_block_types": ["CrossAttnDownBlock2D",
         "CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "DownBlock2D"]})",
     0.860, "https://blog.csdn.net/Silver_ljh/article/details/140830691, 2026-11-24"},
    // Its file of 16-bit weights: 5.14 GB.
    {"SDXL's UNet", sdxl, 5.14 / 2,
     "https://blog.csdn.net/Silver_ljh/article/details/140830691, 2026-11-24"},
});

Model read(const char* config) {
  auto model = parse_model_config(config);
  EXPECT_TRUE(model) << config << (model ? "" : model.error().message());
  return model ? *model : Model{};
}

double bytes_of(const Model& model, const Workload& workload, MemoryPart part) {
  const auto found = estimate(model, workload).of(part);
  return found ? static_cast<double>(found->high.count()) : 0;
}

TEST(Published, ParametersAreWithinOnePercent) {
  for (const Published& each : published) {
    const double count = static_cast<double>(read(each.config).parameters.value_or(0)) / 1e9;
    EXPECT_NEAR(count, each.billions, each.billions / 100) << each.name << ": " << each.source;
  }
}

// As our counting has it: no page with these numbers was read. They hold it where it is.
TEST(Published, OtherFamiliesAreCountedByTheirLayers) {
  EXPECT_EQ(read(R"({"model_type": "qwen3", "hidden_size": 4096, "intermediate_size": 12288,
      "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8,
      "head_dim": 128, "vocab_size": 151936})")
                .parameters,
            8'190'735'360U);
  EXPECT_EQ(read(R"({"model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32,
      "num_attention_heads": 71, "multi_query": true, "vocab_size": 65024})")
                .parameters,
            6'921'720'704U);
  EXPECT_EQ(read(R"({"model_type": "falcon", "hidden_size": 8192, "num_hidden_layers": 60,
      "num_attention_heads": 128, "num_kv_heads": 8, "new_decoder_architecture": true,
      "vocab_size": 65024})")
                .parameters,
            41'303'293'952U);
  EXPECT_EQ(read(R"({"model_type": "phi", "hidden_size": 2560, "intermediate_size": 10240,
      "num_hidden_layers": 32, "num_attention_heads": 32, "vocab_size": 51200})")
                .parameters,
            2'779'683'840U);
  EXPECT_EQ(read(R"({"model_type": "t5", "d_model": 768, "d_kv": 64, "d_ff": 3072,
      "num_layers": 12, "num_heads": 12, "vocab_size": 32128})")
                .parameters,
            222'903'552U);
  EXPECT_EQ(read(R"({"model_type": "t5", "d_model": 1024, "d_kv": 64, "d_ff": 2816,
      "num_layers": 24, "num_heads": 16, "vocab_size": 32128, "tie_word_embeddings": false,
      "feed_forward_proj": "gated-gelu"})")
                .parameters,
            783'150'080U);
  EXPECT_EQ(read(R"({"model_type": "vit", "hidden_size": 768, "intermediate_size": 3072,
      "num_hidden_layers": 12, "num_attention_heads": 12, "patch_size": 16,
      "image_size": 224})")
                .parameters,
            85'798'656U);
  EXPECT_EQ(read(sdxl).parameters, 2'567'463'684U);
  EXPECT_NEAR(static_cast<double>(*read(gemma3_27b).parameters), 27.4e9, 0.27e9);
}

TEST(Published, CachesAreAsTheModelsKeepThem) {
  const Workload workload{.precision = Precision::bf16, .sequence = 1 << 17};
  const double tokens = 1 << 17;
  EXPECT_EQ(bytes_of(read(deepseek_v3), workload, MemoryPart::kv_cache),
            61 * (512 + 64) * 2 * tokens);
  // 10 layers of 62 attend to everything, 52 to 1024 tokens.
  EXPECT_EQ(bytes_of(read(gemma3_27b), workload, MemoryPart::kv_cache),
            2.0 * 16 * 128 * 2 * (10 * tokens + 52 * 1024));
  EXPECT_EQ(bytes_of(read(gpt_oss_20b), workload, MemoryPart::kv_cache),
            2.0 * 8 * 64 * 2 * (12 * tokens + 12 * 128));
  EXPECT_EQ(bytes_of(read(llama4_scout), workload, MemoryPart::kv_cache),
            2.0 * 8 * 128 * 2 * (12 * tokens + 36 * 8192));
  EXPECT_EQ(bytes_of(read(whisper_small), {.precision = Precision::fp16, .sequence = 448},
                     MemoryPart::kv_cache),
            2.0 * 12 * 768 * 2 * (448 + 1500));
  EXPECT_EQ(estimate(read(sdxl), {}).of(MemoryPart::kv_cache), std::nullopt);
}

TEST(Published, OfAUNetWhatItsPicturesTakeIsNotKnown) {
  const Estimate unet = estimate(read(sdxl), {});
  EXPECT_EQ(unet.of(MemoryPart::activations), std::nullopt);
  EXPECT_TRUE(unet.at_least);
  EXPECT_GT(unet.total.low.count(), 5'134'927'368U) << "its weights in 16 bits, and the context";
  EXPECT_EQ(verdict_of(unet.total, Bytes(80ULL << 30)), Verdict::tight) << "unknown is no yes";
  EXPECT_EQ(verdict_of(unet.total, Bytes(4ULL << 30)), Verdict::too_small);
  bool is_said = false;
  for (const Assumption& each : unet.assumptions) {
    EXPECT_EQ(each.text.english().find("KV cache"), std::string::npos) << "a UNet keeps none";
    is_said = is_said || each.text.english().starts_with("activations are not counted");
  }
  EXPECT_TRUE(is_said);
  EXPECT_FALSE(estimate(read(whisper_small), {}).at_least);
}

TEST(Published, WeightsAreThoseOfTheFiles) {
  const auto of_16_bits = std::ranges::count_if(sizes, [](const Size& each) {
    return each.precision == Precision::bf16 || each.precision == Precision::fp16;
  });
  EXPECT_GE(of_16_bits, 20);
  for (const Size& each : sizes) {
    const double wanted = static_cast<double>(each.bytes);
    const double got =
        bytes_of(read(each.config), {.precision = each.precision}, MemoryPart::weights);
    EXPECT_NEAR(got, wanted, wanted / 20) << each.name << ": " << each.source;
    EXPECT_NE(*each.source, 0) << each.name;
  }
}

/// As a config.json has it, with what it says of its 4 bits.
std::string config_of(const FourBitModel& model, std::string_view quantisation) {
  std::string text = fmt::format(
      R"({{"model_type": "{}", "hidden_size": {}, "intermediate_size": {}, "num_hidden_layers": {},
          "num_attention_heads": {}, "num_key_value_heads": {}, "head_dim": {}, "vocab_size": {},
          "tie_word_embeddings": {}{})",
      model.type, model.hidden, model.inner, model.layers, model.heads, model.kv_heads,
      model.head_size, model.words, model.tied, model.more);
  return text + std::string(quantisation) + "}";
}

/// The range of its weights: by the name of the format, or by what its config says.
ByteRange four_bits_of(const FourBitFile& file) {
  const auto model = std::ranges::find(four_bit_models, std::string_view(file.model),
                                       [](const FourBitModel& each) { return each.name; });
  EXPECT_NE(model, four_bit_models.end()) << file.model;
  const bool by_config = *file.how == ',';
  const auto form = by_config ? std::nullopt : four_bits_called(file.how);
  EXPECT_EQ(form.has_value(), !by_config) << file.how;
  const Model read_model = read(config_of(*model, by_config ? file.how : "").c_str());
  EXPECT_EQ(read_model.four_bits.has_value(), by_config) << file.how;
  Workload workload{.four_bits = form};
  if (!by_config) workload.precision = Precision::int4;
  return estimate(read_model, workload).of(MemoryPart::weights).value_or(ByteRange{});
}

void expect_within_five_percent(const FourBitFile& file) {
  const ByteRange got = four_bits_of(file);
  const double wanted = file.gigabytes * 1e9;
  for (const Bytes end : {got.low, got.high}) {
    EXPECT_NEAR(static_cast<double>(end.count()), wanted, wanted / 20)
        << file.model << " " << file.how << ": " << file.source;
  }
  EXPECT_NE(*file.source, 0) << file.model;
}

TEST(Published, WeightsOfFourBitsAreThoseOfTheFiles) {
  std::set<std::string_view> models;
  for (const FourBitFile& file : four_bit_files) {
    expect_within_five_percent(file);
    models.insert(file.model);
  }
  EXPECT_GE(models.size(), 20U);
}

// These were drawn by a hash of their names, and their sizes were read after the model was done.
TEST(Published, WeightsOfFourBitsOfFilesThatWereReadLastAreThoseOfTheFiles) {
  for (const FourBitFile& file : four_bit_files_read_last) expect_within_five_percent(file);
}

TEST(Published, FourBitsOfNoNamedKindCoverWhatPyTorchLoads) {
  for (const FourBitFile& file : four_bit_files) {
    const std::string_view how = file.how;
    if (how != "gptq" && how != "awq") continue;
    const auto model = std::ranges::find(four_bit_models, std::string_view(file.model),
                                         [](const FourBitModel& each) { return each.name; });
    const auto range = estimate(read(config_of(*model, "").c_str()), {.precision = Precision::int4})
                           .of(MemoryPart::weights)
                           .value_or(ByteRange{});
    EXPECT_LE(static_cast<double>(range.low.count()), file.gigabytes * 1.005e9) << file.model;
    EXPECT_GE(static_cast<double>(range.high.count()), file.gigabytes * 0.995e9) << file.model;
  }
}

TEST(Published, ALongContextOfLlama8BIsOfWeightsAndCache) {
  const Workload workload{.precision = Precision::bf16, .sequence = 1 << 17};
  const Estimate all = estimate(model_of_size(8'030'261'248), workload);
  EXPECT_NEAR(static_cast<double>(all.total.low.count()) / (1 << 30), 35, 0.5);
  EXPECT_LT(all.total.high.count(), 45ULL << 30);
}

TEST(Workload, CountsTokensAsContextsAreNamed) {
  EXPECT_EQ(parse_token_count("128k").value(), 131072U);
  EXPECT_EQ(parse_token_count("32K").value(), 32768U);
  EXPECT_EQ(parse_token_count("1m").value(), 1048576U);
  EXPECT_EQ(parse_token_count("4096").value(), 4096U);
  for (const char* wrong : {"", "k", "0", "0k", "-1", "17m", "1.5k", "128kk", "16777217"}) {
    EXPECT_FALSE(parse_token_count(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace berth

#pragma once
// File sizes of published checkpoints, for published_test.cc.

#include <array>
#include <cstdint>

#include "fit/model.h"

namespace berth::published {

/// A checkpoint's config, as far as its memory depends on it, and the bytes of its files.
struct Size {
  const char* name;
  const char* config;
  Precision precision;  // of `bytes`
  std::uint64_t bytes;
  const char* source;
};

inline constexpr const char* deepseek_v3 = R"({"model_type": "deepseek_v3", "hidden_size": 7168,
    "intermediate_size": 18432, "moe_intermediate_size": 2048, "num_hidden_layers": 61,
    "num_attention_heads": 128, "num_key_value_heads": 128, "n_shared_experts": 1,
    "n_routed_experts": 256, "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_rope_head_dim": 64,
    "v_head_dim": 128, "qk_nope_head_dim": 128, "first_k_dense_replace": 3, "vocab_size": 129280,
    "tie_word_embeddings": false, "num_nextn_predict_layers": 1,
    "quantization_config": {"quant_method": "fp8"}})";
inline constexpr const char* gpt_oss_20b = R"({"model_type": "gpt_oss", "hidden_size": 2880,
    "num_hidden_layers": 24, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64,
    "intermediate_size": 2880, "num_local_experts": 32, "vocab_size": 201088,
    "attention_bias": true, "sliding_window": 128, "tie_word_embeddings": false})";
inline constexpr const char* llama32_3b = R"({"model_type": "llama", "hidden_size": 3072,
    "intermediate_size": 8192, "num_hidden_layers": 28, "num_attention_heads": 24,
    "num_key_value_heads": 8, "vocab_size": 128256, "tie_word_embeddings": true})";
inline constexpr const char* falcon_180b = R"({"model_type": "falcon", "hidden_size": 14848,
    "num_hidden_layers": 80, "num_attention_heads": 232, "num_kv_heads": 8,
    "new_decoder_architecture": true, "bias": false, "vocab_size": 65024})";
inline constexpr const char* llama4_scout = R"({"model_type": "llama4", "text_config": {
    "model_type": "llama4_text", "hidden_size": 5120, "intermediate_size": 8192,
    "intermediate_size_mlp": 16384, "num_hidden_layers": 48, "num_attention_heads": 40,
    "num_key_value_heads": 8, "head_dim": 128, "num_local_experts": 16,
    "interleave_moe_layer_step": 1, "attention_chunk_size": 8192, "vocab_size": 202048},
    "vision_config": {"hidden_size": 1408, "intermediate_size": 5632, "num_hidden_layers": 34,
    "patch_size": 14, "image_size": 336}, "torch_dtype": "bfloat16"})";
inline constexpr const char* gemma3_27b = R"({"model_type": "gemma3", "text_config": {
    "model_type": "gemma3_text", "hidden_size": 5376, "intermediate_size": 21504,
    "num_hidden_layers": 62, "num_attention_heads": 32, "num_key_value_heads": 16,
    "head_dim": 128, "sliding_window": 1024}, "vision_config": {"hidden_size": 1152,
    "intermediate_size": 4304, "num_hidden_layers": 27, "patch_size": 14, "image_size": 896}})";
inline constexpr const char* whisper_small = R"({"model_type": "whisper", "d_model": 768,
    "encoder_layers": 12, "decoder_layers": 12, "decoder_attention_heads": 12,
    "encoder_ffn_dim": 3072, "decoder_ffn_dim": 3072, "num_mel_bins": 80, "vocab_size": 51865})";
inline constexpr const char* sdxl = R"({"_class_name": "UNet2DConditionModel", "in_channels": 4,
    "out_channels": 4, "block_out_channels": [320, 640, 1280], "layers_per_block": 2,
    "transformer_layers_per_block": [1, 2, 10], "cross_attention_dim": 2048,
    "projection_class_embeddings_input_dim": 2816, "down_block_types": ["DownBlock2D",
    "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"]})";

inline constexpr auto sizes = std::to_array<Size>({
    {"Llama 2 7B",
     R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 32000, "tie_word_embeddings": false})",
     Precision::fp16, 13476839424U,
     "metadata.total_size of Llama-2-7b-hf's model.safetensors.index.json, as public files quote "
     "it"},
    {"Llama 3 8B",
     R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "tie_word_embeddings": false})",
     Precision::bf16, 16060522496U,
     "metadata.total_size of Meta-Llama-3-8B's model.safetensors.index.json, as public files quote "
     "it"},
    {"Llama 3.1 70B",
     R"({"model_type": "llama", "hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 128256, "tie_word_embeddings": false})",
     Precision::bf16, 141107412992U,
     "metadata.total_size of Llama-3.1-70B's model.safetensors.index.json, as public files quote "
     "it"},
    {"Yi 1.5 6B",
     R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 4, "vocab_size": 64000, "tie_word_embeddings": false})",
     Precision::bf16, 12122071040U,
     "https://github.com/YouriLalain/2PRYMMAL-Yi1.5-6B-SLERP/blob/"
     "b776bd3ce6784b96ff928b1d5ad51b2991909f2c/model.safetensors.index.json"},
    {"Mistral 7B",
     R"({"model_type": "mistral", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32000, "tie_word_embeddings": false})",
     Precision::bf16, 14483464192U,
     "metadata.total_size of Mistral-7B-v0.1's model.safetensors.index.json, as public files quote "
     "it"},
    {"Mistral Small 24B",
     R"({"model_type": "mistral", "hidden_size": 5120, "intermediate_size": 32768, "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 131074, "tie_word_embeddings": false, "head_dim": 128})",
     Precision::bf16, 47144847360U,
     "https://github.com/gsasouza/dolphin3-mistral/blob/a3b1939fb582a9707e82c55ffb1a6e6af26080c7/"
     "model.safetensors.index.json"},
    {"Mixtral 8x7B",
     R"({"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32000, "tie_word_embeddings": false, "num_local_experts": 8})",
     Precision::bf16, 93405585408U,
     "metadata.total_size of Mixtral-8x7B-v0.1's model.safetensors.index.json, as public files "
     "quote it"},
    {"Mixtral 8x22B",
     R"({"model_type": "mixtral", "hidden_size": 6144, "intermediate_size": 16384, "num_hidden_layers": 56, "num_attention_heads": 48, "num_key_value_heads": 8, "vocab_size": 32000, "tie_word_embeddings": false, "num_local_experts": 8})",
     Precision::bf16, 281241268224U,
     "https://github.com/tbressers/WizardLM-2-8x22B/blob/714c46d2c26b290b10d418dd9f8046ccd9db372a/"
     "model.safetensors.index.json"},
    {"Qwen2.5 7B",
     R"({"model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064, "tie_word_embeddings": false})",
     Precision::bf16, 15231233024U,
     "metadata.total_size of Qwen2.5-7B's model.safetensors.index.json, as public files quote it"},
    {"Qwen2.5 14B",
     R"({"model_type": "qwen2", "hidden_size": 5120, "intermediate_size": 13824, "num_hidden_layers": 48, "num_attention_heads": 40, "num_key_value_heads": 8, "vocab_size": 151665, "tie_word_embeddings": false})",
     Precision::bf16, 29531895808U,
     "https://github.com/fetchwiki/deepcogito-cogito-v1-preview-qwen-14B/blob/"
     "3ebd2c06f46640dc97c0fa6e3cd59da9944c3be0/model.safetensors.index.json"},
    {"Qwen3 1.7B",
     R"({"model_type": "qwen3", "hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 8, "vocab_size": 151936, "tie_word_embeddings": true, "head_dim": 128})",
     Precision::bf16, 3441149952U,
     "https://github.com/root-hypercube/qwen3-mlx/blob/3bdd51a9f8234140fe178ddeb3e61d986cc9e0e4/"
     "model.safetensors.index.json"},
    {"Qwen3 8B",
     R"({"model_type": "qwen3", "hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 151936, "tie_word_embeddings": false, "head_dim": 128})",
     Precision::bf16, 16381470720U,
     "metadata.total_size of Qwen3-8B's model.safetensors.index.json, as public files quote it"},
    {"Qwen3 30B-A3B",
     R"({"model_type": "qwen3_moe", "hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 48, "num_attention_heads": 32, "num_key_value_heads": 4, "vocab_size": 151936, "tie_word_embeddings": false, "head_dim": 128, "moe_intermediate_size": 768, "num_experts": 128, "decoder_sparse_step": 1})",
     Precision::bf16, 61064245248U,
     "metadata.total_size of Qwen3-30B-A3B's model.safetensors.index.json, as public files quote "
     "it"},
    {"Phi-2",
     R"({"model_type": "phi", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 32, "num_attention_heads": 32, "vocab_size": 51200})",
     Precision::fp16, 5559367680U,
     "metadata.total_size of phi-2's model.safetensors.index.json, as public files quote it"},
    {"Phi-3 mini",
     R"({"model_type": "phi3", "hidden_size": 3072, "intermediate_size": 8192, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 32064, "tie_word_embeddings": false})",
     Precision::bf16, 7642159104U,
     "https://github.com/YouriLalain/3PRYMMAL-PHI3-3B-SLERP/blob/"
     "9396bcf1709ac8360a95a746482520fab4295706/model.safetensors.index.json"},
    {"phi-4",
     R"({"model_type": "phi3", "hidden_size": 5120, "intermediate_size": 17920, "num_hidden_layers": 40, "num_attention_heads": 40, "num_key_value_heads": 10, "vocab_size": 100352, "tie_word_embeddings": false})",
     Precision::bf16, 29319014400U,
     "metadata.total_size of phi-4's model.safetensors.index.json, as public files quote it"},
    {"Gemma 3 27B", gemma3_27b, Precision::bf16, 54864813280U,
     "https://github.com/Ibtasam-98/medgemma-27b-it/blob/248890241658b01897602b12d3b9fc920ecb4676/"
     "model.safetensors.index.json"},
    {"Llama 4 Scout", llama4_scout, Precision::bf16, 210000000000U,
     "https://hackmd.io/%40Ibi/Sy7i4gMRkx, 2026-11-24"},
    {"Llama 3.2 3B", llama32_3b, Precision::bf16, 6425499648U,
     "https://github.com/PANDASANG1231/llama_3.2-3B-huggingface-shard0/blob/"
     "fe83a2cc87d5fa4bddd44ee59f71e091631f87c2/model.safetensors.index.json"},
    {"Falcon 180B", falcon_180b, Precision::bf16, 359045130240U,
     "https://github.com/Alikhan13r/falcon-180B-chat/blob/"
     "50071b009e171ac9b176c0120d7c4f5646f98ef5/model.safetensors.index.json"},
    {"DeepSeek-V3", deepseek_v3, Precision::fp8, 688586727753U,
     "bytes of DeepSeek-V3's files as public files quote them: FP8"},
    {"Whisper small", whisper_small, Precision::fp32, 966995080U,
     "size of openai/whisper-small's model.safetensors, FP32, as public files quote it"},
    {"T5 base",
     R"({"model_type": "t5", "d_model": 768, "d_kv": 64, "d_ff": 3072, "num_layers": 12, "num_heads": 12, "vocab_size": 32128})",
     Precision::fp32, 891646390U,
     "size of google-t5/t5-base's model.safetensors, FP32, as public files quote it"},
    {"ViT base",
     R"({"model_type": "vit", "hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12, "num_attention_heads": 12, "patch_size": 16, "image_size": 224})",
     Precision::fp32, 346284714U,
     "size of google/vit-base-patch16-224's model.safetensors, FP32, as public files quote it"},
    {"SDXL's UNet", sdxl, Precision::fp16, 5140000000U,
     "https://blog.csdn.net/Silver_ljh/article/details/140830691, 2026-11-24"},
});

}  // namespace berth::published

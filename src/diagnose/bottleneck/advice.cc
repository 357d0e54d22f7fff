#include "diagnose/bottleneck/advice.h"

namespace berth::bottleneck {

namespace {

using Steps = std::vector<Finding::Step>;

Finding::Step step(Sentence what) { return {std::move(what), ""}; }

Steps more_workers(Framework framework, int workers) {
  switch (framework) {
    case Framework::torch:
      if (workers > 0) {
        return {step(sentence("DataLoader(…, num_workers={}, persistent_workers=True)", workers)),
                step(sentence("prefetch_factor=4 evens out batches that take unequally long"))};
      }
      return {step(sentence("raise num_workers of the DataLoader, with persistent_workers=True"))};
    case Framework::tensorflow:
      return {
          step(sentence("dataset.map(…, num_parallel_calls=tf.data.AUTOTUNE), then "
                        ".prefetch(tf.data.AUTOTUNE)"))};
    case Framework::jax:
      return {
          step(sentence("raise worker_count of grain's DataLoader, or num_parallel_calls of "
                        "tf.data"))};
    case Framework::unknown:
      break;
  }
  if (workers > 0) return {step(sentence("load with about {} processes", workers))};
  return {step(sentence("load with more processes"))};
}

Steps lighter_loading(Framework framework) {
  Steps steps = {
      step(sentence("do once beforehand what is done to every sample each time: decode, "
                    "resize, tokenise, and store the result"))};
  switch (framework) {
    case Framework::torch:
      steps.push_back(
          step(sentence("move transforms to the GPU (torchvision.transforms.v2 on tensors there, "
                        "kornia, DALI)")));
      break;
    case Framework::tensorflow:
      steps.push_back(
          step(sentence("dataset.cache() after the costly map; batch before map where it can be "
                        "vectorised. Preprocessing layers inside the model run on the GPU")));
      break;
    case Framework::jax:
      steps.push_back(step(sentence("do augmentation inside jax.jit, where it runs on the GPU")));
      break;
    case Framework::unknown:
      steps.push_back(step(sentence("do a part of the preparation on the GPU")));
      break;
  }
  return steps;
}

Steps faster_storage(Framework framework) {
  Steps steps = {step(sentence("copy the data to a local disk or into memory (/dev/shm) first"))};
  switch (framework) {
    case Framework::torch:
      steps.push_back(
          step(sentence("read few large files instead of many small ones (WebDataset, tar, "
                        "Parquet). More num_workers have several reads under way")));
      break;
    case Framework::tensorflow:
      steps.push_back(
          step(sentence("TFRecord files of 100 MB and more, read by dataset.interleave(…, "
                        "num_parallel_calls=tf.data.AUTOTUNE); dataset.cache()")));
      break;
    case Framework::jax:
    case Framework::unknown:
      steps.push_back(
          step(sentence("read few large files instead of many small ones, several at a time")));
      break;
  }
  return steps;
}

Steps overlap(Framework framework) {
  switch (framework) {
    case Framework::torch:
      return {step(sentence("move loading and preparing into DataLoader workers: num_workers above "
                            "0, pin_memory=True")),
              step(sentence("call .item(), .cpu() and print(loss) every hundredth step, not each: "
                            "they wait for the GPU")),
              step(sentence("torch.compile(model) takes Python out of the step"))};
    case Framework::tensorflow:
      return {
          step(sentence("put the training step into tf.function, the preparation into tf.data "
                        "(.map, .prefetch(tf.data.AUTOTUNE))"))};
    case Framework::jax:
      return {
          step(sentence("put the whole step under jax.jit; prepare the next batch in another "
                        "thread or process (grain, tf.data) meanwhile")),
          step(sentence("fetch results (float(loss), np.asarray) every hundredth step, not each"))};
    case Framework::unknown:
      break;
  }
  return {
      step(sentence("prepare the next batch in other processes while the GPU computes this one"))};
}

Steps pinned_copies(Framework framework) {
  switch (framework) {
    case Framework::torch:
      return {step(sentence("DataLoader(…, pin_memory=True) and .to(device, non_blocking=True): "
                            "the copy runs beside the kernels")),
              step(sentence("keep on the GPU what is used again, and send smaller types (uint8 "
                            "images, converted there)")),
              step(sentence("make tensors where they are used: torch.zeros(…, device=\"cuda\")"))};
    case Framework::tensorflow:
      return {step(sentence("tf.data.experimental.prefetch_to_device(\"/gpu:0\") as the last step "
                            "of the pipeline")),
              step(sentence("send smaller types and convert them on the GPU"))};
    case Framework::jax:
      return {
          step(sentence("jax.device_put the next batch before this one is done (two batches in "
                        "flight), donate_argnums for what is replaced")),
          step(sentence("keep on the GPU what is used again: np.asarray and float() copy back"))};
    case Framework::unknown:
      break;
  }
  return {
      step(sentence("copy from pinned memory and beside the kernels; keep on the GPU what is "
                    "used again"))};
}

Steps bigger_work(Framework framework) {
  Steps steps = {step(sentence("raise the batch size while the memory allows it"))};
  switch (framework) {
    case Framework::torch:
      steps.push_back(step(sentence(
          "torch.compile(model, mode=\"reduce-overhead\") fuses kernels and replays them as a CUDA "
          "graph")));
      steps.push_back(step(sentence(
          "fused optimisers (fused=True); gradient accumulation saves optimiser steps, but does "
          "not make kernels larger")));
      break;
    case Framework::tensorflow:
      steps.push_back(step(sentence("tf.function(jit_compile=True): XLA fuses kernels")));
      break;
    case Framework::jax:
      steps.push_back(step(sentence(
          "put more into one jax.jit (the whole step, several steps by jax.lax.scan); jax.vmap "
          "instead of loops")));
      break;
    case Framework::unknown:
      steps.push_back(step(sentence("put several small kernels into one, or into a CUDA graph")));
      break;
  }
  return steps;
}

Steps less_traffic(Framework framework) {
  switch (framework) {
    case Framework::torch:
      return {
          step(sentence("torch.autocast(\"cuda\", dtype=torch.bfloat16): half the bytes, and the "
                        "tensor cores")),
          step(sentence("torch.compile fuses element-wise kernels; scaled_dot_product_attention "
                        "instead of an attention of one's own; channels_last for convolutions"))};
    case Framework::tensorflow:
      return {
          step(sentence("mixed_precision.set_global_policy(\"mixed_bfloat16\") and "
                        "jit_compile=True"))};
    case Framework::jax:
      return {
          step(sentence("bfloat16 for activations and weights in the step; one jax.jit around all "
                        "of it, so that XLA can fuse"))};
    case Framework::unknown:
      break;
  }
  return {step(sentence("use half precision, and fuse what reads the same data"))};
}

Steps shorter_pauses(Framework framework) {
  Steps steps;
  switch (framework) {
    case Framework::torch:
      steps = {
          step(sentence("write checkpoints in the background "
                        "(torch.distributed.checkpoint.async_save, or a copy to the CPU and a "
                        "thread that writes it)"))};
      break;
    case Framework::tensorflow:
      steps = {
          step(sentence("tf.train.CheckpointOptions(experimental_enable_async_checkpoint=True)"))};
      break;
    case Framework::jax:
      steps = {step(sentence("orbax's AsyncCheckpointer writes while the next steps run"))};
      break;
    case Framework::unknown:
      steps = {step(sentence("write checkpoints in the background"))};
      break;
  }
  steps.push_back(step(sentence(
      "evaluate and save less often, or evaluate on another GPU; keep the workers of the training "
      "set alive meanwhile")));
  return steps;
}

Steps onto_the_device(Framework framework) {
  switch (framework) {
    case Framework::torch:
      return {step(sentence("model.to(\"cuda\") and each batch .to(\"cuda\"); print "
                            "next(model.parameters()).device")),
              {sentence("see whether this torch can use the GPU at all"), "berth doctor"}};
    case Framework::tensorflow:
      return {step(sentence("tf.config.list_physical_devices(\"GPU\") must not be empty; "
                            "tf.debugging.set_log_device_placement(True) says where each operation "
                            "runs")),
              {sentence("see whether this TensorFlow can use the GPU at all"), "berth doctor"}};
    case Framework::jax:
      return {step(sentence("jax.devices() must name a GPU; JAX_PLATFORMS must not be cpu")),
              {sentence("see whether this JAX can use the GPU at all"), "berth doctor"}};
    case Framework::unknown:
      break;
  }
  return {{sentence("see whether the program's framework can use the GPU at all"), "berth doctor"}};
}

Steps balance_ranks(Framework framework) {
  Steps steps = {
      step(sentence("find the late rank with `berth explain` for each GPU of the job. The others "
                    "wait for the one whose SMs are busy"))};
  if (framework == Framework::torch) {
    steps.push_back(
        step(sentence("give every rank batches of the same length (sort or bucket by length, "
                      "drop_last=True). Do logging and evaluation on all ranks or on none")));
    steps.push_back(
        step(sentence("gradient accumulation under model.no_sync() has the ranks wait for each "
                      "other less often")));
  } else {
    steps.push_back(step(sentence("give every rank the same amount of work")));
  }
  return steps;
}

}  // namespace

std::vector<Finding::Step> advice(Advice what, Framework framework, int workers) {
  switch (what) {
    case Advice::more_workers:
      return more_workers(framework, workers);
    case Advice::lighter_loading:
      return lighter_loading(framework);
    case Advice::faster_storage:
      return faster_storage(framework);
    case Advice::overlap:
      return overlap(framework);
    case Advice::pinned_copies:
      return pinned_copies(framework);
    case Advice::bigger_work:
      return bigger_work(framework);
    case Advice::less_traffic:
      return less_traffic(framework);
    case Advice::shorter_pauses:
      return shorter_pauses(framework);
    case Advice::onto_the_device:
      return onto_the_device(framework);
    case Advice::balance_ranks:
      return balance_ranks(framework);
  }
  return {};
}

}  // namespace berth::bottleneck

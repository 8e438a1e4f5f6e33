//! What surrounds computing on the GPU of a browser: its test, warming up, memory that stays, devices that are lost. What the
//! browser is asked for is seen, and altered, in the prototypes of its GPU.

use crate::tiny_gguf::with_tokenizer;
use crate::{encoder_files, file, object, started, text, tiny_translator};
use js_sys::Function;
use multihead::web::{EncoderModel, TextModel, TranslationModel, start_gpu};
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use wasm_bindgen::JsValue;
use wasm_bindgen_test::{console_log, wasm_bindgen_test};

/// Runs some JavaScript.
fn js(code: &str) -> JsValue {
    Function::new_no_args(code).call0(&JsValue::UNDEFINED).unwrap()
}

/// Keeps the devices, counts pipelines, and lets `alter` change kernels.
pub fn watch() {
    js("if (self.devices || !self.GPUAdapter) return;
        self.devices = [];
        self.pipelines = 0;
        const { requestDevice } = GPUAdapter.prototype;
        GPUAdapter.prototype.requestDevice = async function (descriptor) {
          const device = await requestDevice.call(this, descriptor);
          self.devices.push(device);
          return device;
        };
        const { createComputePipeline, createShaderModule } = GPUDevice.prototype;
        GPUDevice.prototype.createComputePipeline = function (descriptor) {
          self.pipelines += 1;
          return createComputePipeline.call(this, descriptor);
        };
        GPUDevice.prototype.createShaderModule = function (descriptor) {
          const code = self.alter ? self.alter(descriptor.code) : descriptor.code;
          return createShaderModule.call(this, { ...descriptor, code });
        };");
}

fn code(error: &JsValue) -> String {
    text(error, "code")
}

fn text_model() -> TextModel {
    let bytes = with_tokenizer(include_bytes!("../fixtures/decoders/llama.gguf"));
    TextModel::new(&object(&[("model", file("llama.gguf", &bytes))]), &JsValue::UNDEFINED).unwrap()
}

fn translator() -> TranslationModel {
    TranslationModel::new(&tiny_translator(), &JsValue::UNDEFINED).unwrap()
}

fn encoder() -> EncoderModel {
    EncoderModel::new(&encoder_files(), &JsValue::UNDEFINED).unwrap()
}

fn texts(count: usize) -> Vec<String> {
    (1..=count).map(|words| "the cat ".repeat(words)).collect()
}

type Outcome = Result<(), JsValue>;

/// Waits for all at once.
async fn all<const N: usize>(
    mut calls: [Pin<Box<dyn Future<Output = Outcome> + '_>>; N],
) -> [Option<Outcome>; N] {
    let mut outcomes = [const { None }; N];
    poll_fn(|context| {
        for (call, outcome) in calls.iter_mut().zip(&mut outcomes) {
            if outcome.is_none()
                && let Poll::Ready(ready) = call.as_mut().poll(context)
            {
                *outcome = Some(ready);
            }
        }
        match outcomes.iter().all(Option::is_some) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
    outcomes
}

/// Steps to the end.
macro_rules! run {
    ($job:expr) => {
        async {
            let mut job = $job?;
            while !job.done() {
                job.step(0.0).await?;
            }
            Ok::<(), JsValue>(())
        }
        .await
    };
}

async fn translate(model: &TranslationModel, count: usize) -> Outcome {
    run!(model.start(texts(count), &JsValue::UNDEFINED))
}

async fn write(model: &TextModel, prompt: usize, new: u32) -> Outcome {
    let options = object(&[("maxNewTokens", new.into())]);
    run!(model.session().generate(vec![5; prompt], &options))
}

async fn embed(model: &EncoderModel, count: usize) -> Outcome {
    run!(model.embed(texts(count), &JsValue::UNDEFINED))
}

fn pipelines() -> f64 {
    js("return self.pipelines;").as_f64().unwrap()
}

/// Errors that no call of the browser's returns, of the three kinds that there are.
async fn errors_are_those_of_the_next_read(model: &TextModel) {
    for (class, expected) in [
        ("GPUOutOfMemoryError", "out-of-memory"),
        ("GPUValidationError", "internal"),
        ("GPUInternalError", "internal"),
    ] {
        js(&format!(
            "for (const device of self.devices) {{
               const error = new {class}('made up');
               const event = new GPUUncapturedErrorEvent('uncapturederror', {{ error }});
               device.dispatchEvent(event);
             }}"
        ));
        let error = write(model, 2, 2).await.unwrap_err();
        console_log!("{}", text(&error, "message"));
        assert_eq!(code(&error), expected);
        write(model, 2, 2).await.unwrap();
    }
}

/// Kernels that are not what they were: the device is refused, and says why.
async fn a_gpu_that_computes_wrong_is_refused() {
    for (alter, what) in [
        ("self.alter = (code) => code.replaceAll('exp(', 'exp2(');", "it computes wrong: "),
        ("self.alter = () => 'nonsense';", "refused a command"),
    ] {
        js(alter);
        let error = start_gpu(JsValue::UNDEFINED).await.unwrap_err();
        js("self.alter = undefined;");
        console_log!("{}", text(&error, "message"));
        assert_eq!(code(&error), "gpu-unavailable");
        assert!(text(&error, "message").contains(what), "{}", text(&error, "message"));
    }
}

/// The life of a device, in one: each costs seconds of compiling on a software GPU. That its memory stays the same is for
/// `stack_gpu` to show, and for the tests of the package.
#[wasm_bindgen_test]
async fn a_device_is_tested_warmed_up_used_lost_and_replaced() {
    if !started().await {
        return;
    }
    let (model, before, mut parts) = (encoder(), pipelines(), 1);
    while model.warm_up().await.unwrap() > 0 {
        parts += 1;
    }
    let warmed = pipelines();
    console_log!("{parts} parts, {} pipelines", warmed - before);
    assert!(parts > 1 && warmed > before);
    for count in [1, 3, 9] {
        embed(&model, count).await.unwrap();
    }
    assert_eq!(pipelines(), warmed, "no more pipelines");
    let (text, translator) = (text_model(), translator());
    errors_are_those_of_the_next_read(&text).await;
    // While all three wait for their results.
    // Other tests have devices of their own, before it or after.
    js("Promise.resolve().then(() => self.devices.forEach((device) => device.destroy()));");
    let under_way = all([
        Box::pin(translate(&translator, 3)),
        Box::pin(write(&text, 3, 20)),
        Box::pin(embed(&model, 3)),
    ]);
    for outcome in under_way.await {
        assert_eq!(code(&outcome.unwrap().unwrap_err()), "device-lost");
    }
    assert_eq!(code(&translate(&translator, 1).await.unwrap_err()), "device-lost");
    assert_eq!(code(&write(&text, 1, 1).await.unwrap_err()), "device-lost");
    assert_eq!(code(&embed(&model, 1).await.unwrap_err()), "device-lost");
    assert_eq!(code(&model.warm_up().await.unwrap_err()), "device-lost");
    drop((translator, text, model));
    let Err(error) = TranslationModel::new(&tiny_translator(), &JsValue::UNDEFINED) else {
        panic!("a model on no device")
    };
    assert_eq!(code(&error), "gpu-unavailable");
    a_gpu_that_computes_wrong_is_refused().await;
    start_gpu(JsValue::UNDEFINED).await.unwrap();
    embed(&encoder(), 3).await.unwrap();
}

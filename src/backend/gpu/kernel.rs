//! Kernels: WGSL and how its arguments are bound; pipelines made of them once.

use std::collections::HashMap;
use std::rc::Rc;

/// What a kernel does with a binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// `var<storage, read>`: a buffer.
    Read,
    /// `var<storage, read_write>`: a buffer.
    Write,
    /// `var<storage, read>`: words that come with the call.
    Data,
}

/// A kernel: an entry point of some WGSL. Binding 0 is `var<uniform>`, a struct of at most 256 bytes; the others follow in
/// the order of `bindings`, all in group 0.
#[derive(Debug)]
pub struct Kernel {
    /// Its name, for errors and profiles.
    pub name: &'static str,
    /// WGSL, one text after the other: what kernels share, then the kernel.
    pub sources: &'static [&'static str],
    /// The entry point.
    pub entry: &'static str,
    /// Bindings from 1 on.
    pub bindings: &'static [Access],
}

/// Values of `override` constants, by name.
pub type Constants<'a> = &'a [(&'static str, u32)];

impl Kernel {
    /// The whole WGSL.
    pub fn wgsl(&self) -> String {
        self.sources.concat()
    }
}

/// A pipeline and the shape of its bind groups.
pub struct Pipeline {
    pub pipeline: wgpu::ComputePipeline,
    pub layout: Rc<Layout>,
}

/// Shape of bind groups: kernels with the same bindings share it, and the groups.
pub struct Layout {
    /// Stands for it in the keys of bind groups.
    pub id: u64,
    pub groups: wgpu::BindGroupLayout,
    pipelines: wgpu::PipelineLayout,
}

/// A kernel, by its address and entry, and the values of its constants.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    kernel: usize,
    constants: Vec<u32>,
}

/// Everything that was made.
#[derive(Default)]
pub struct Kernels {
    layouts: HashMap<&'static [Access], Rc<Layout>>,
    modules: HashMap<usize, wgpu::ShaderModule>,
    pipelines: HashMap<Key, Rc<Pipeline>>,
    /// The last key looked up, for its room.
    key: Vec<u32>,
}

impl Kernels {
    /// The pipeline of `kernel` with these constants; whether it was made just now.
    pub fn pipeline(
        &mut self,
        device: &wgpu::Device,
        kernel: &'static Kernel,
        constants: Constants<'_>,
    ) -> (Rc<Pipeline>, bool) {
        self.key.clear();
        self.key.extend(constants.iter().map(|(_, value)| *value));
        let address = std::ptr::from_ref(kernel) as usize;
        let key = Key { kernel: address, constants: std::mem::take(&mut self.key) };
        if let Some(pipeline) = self.pipelines.get(&key) {
            let pipeline = Rc::clone(pipeline);
            self.key = key.constants;
            return (pipeline, false);
        }
        let layout = self.layout(device, kernel.bindings);
        let module = self.modules.entry(address).or_insert_with(|| {
            device.create_shader_module(wgpu::ShaderModuleDescriptor {
                label: Some(kernel.name),
                source: wgpu::ShaderSource::Wgsl(kernel.wgsl().into()),
            })
        });
        let constants: Vec<_> =
            constants.iter().map(|(name, value)| (*name, f64::from(*value))).collect();
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(kernel.name),
            layout: Some(&layout.pipelines),
            module,
            entry_point: Some(kernel.entry),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants: &constants,
                // No kernel reads workgroup memory that it has not written.
                zero_initialize_workgroup_memory: false,
            },
            cache: None,
        });
        let pipeline = Rc::new(Pipeline { pipeline, layout });
        self.pipelines.insert(key, Rc::clone(&pipeline));
        (pipeline, true)
    }

    fn layout(&mut self, device: &wgpu::Device, bindings: &'static [Access]) -> Rc<Layout> {
        let id = self.layouts.len() as u64;
        let make = || {
            let entry = |binding: usize, ty, has_dynamic_offset| wgpu::BindGroupLayoutEntry {
                binding: binding as u32,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset, min_binding_size: None },
                count: None,
            };
            let mut entries = vec![entry(0, wgpu::BufferBindingType::Uniform, true)];
            for (i, access) in bindings.iter().enumerate() {
                let read_only = *access != Access::Write;
                let ty = wgpu::BufferBindingType::Storage { read_only };
                entries.push(entry(i + 1, ty, *access == Access::Data));
            }
            let groups = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                label: None,
                entries: &entries,
            });
            let pipelines = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: None,
                bind_group_layouts: &[Some(&groups)],
                immediate_size: 0,
            });
            Rc::new(Layout { id, groups, pipelines })
        };
        Rc::clone(self.layouts.entry(bindings).or_insert_with(make))
    }
}

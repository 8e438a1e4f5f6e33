//! Every op on a GPU beside the CPU's float32 path, on a software adapter; and what holds of every kernel without one.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used)]

mod ops_body;

use multihead::backend::gpu::Request;
use multihead::ops::KERNELS;
use ops_body::now;
use wgpu::naga;

#[test]
fn every_op_gives_the_float32_path_of_the_cpu() {
    let request = Request { software: true, ..Default::default() };
    let announce = |line: &str| println!("{line}");
    let Some(gpu) = now(ops_body::gpu::device(request, announce)) else { return };
    ops_body::gpu::also_on(gpu.clone(), 1);
    now(ops_body::check_all(announce));
    now(ops_body::gpu::check_the_rest(&mut gpu.clone()));
    let report = |name| ops_body::gpu::report(name).into_iter().for_each(|line| announce(&line));
    let outputs = [2, 34, 130, 64, 66];
    now(ops_body::products::check(&[1, 2, 3, 7, 9, 20, 70, 200, 40], &outputs, 256));
    report("products in every format");
    // The square matrix of float32 has 16 MiB; of 32 KiB every format has more.
    for (max_binding, rows, outputs, columns) in
        [(8 << 20, &[2][..], 34, 2048), (32 << 10, &[1, 5, 20], 300, 256)]
    {
        let request = Request { software: true, max_binding: Some(max_binding) };
        let small = now(ops_body::gpu::device(request, announce)).unwrap();
        ops_body::gpu::also_on(small, 1);
        now(ops_body::products::check(rows, &[outputs], columns));
        report("products in pieces");
    }
    let counts = gpu.counts();
    println!("{counts:?}");
    assert!(counts.dispatches > 1000 && counts.read_backs > 500, "{counts:?}");
}

/// WGSL as naga understands it, for a device with nothing but what every device has.
#[test]
fn every_kernel_is_valid_wgsl() {
    for kernel in KERNELS {
        let name = kernel.name;
        let module = naga::front::wgsl::parse_str(&kernel.wgsl())
            .unwrap_or_else(|error| panic!("{name}: {}", error.emit_to_string(&kernel.wgsl())));
        let mut validator = naga::valid::Validator::new(
            naga::valid::ValidationFlags::all(),
            naga::valid::Capabilities::empty(),
        );
        validator
            .validate(&module)
            .unwrap_or_else(|error| panic!("{name}: {}", error.emit_to_string(&kernel.wgsl())));
        assert!(module.entry_points.iter().any(|point| point.name == kernel.entry), "{name}");
        let bindings = module.global_variables.iter().filter(|(_, var)| var.binding.is_some());
        // The uniforms and what the kernel says it binds; of these at most eight are storage buffers.
        assert_eq!(bindings.count(), kernel.bindings.len() + 1, "{name}");
        assert!(kernel.bindings.len() <= 8, "{name}");
        assert!(!kernel.wgsl().contains("enable "), "{name} needs no extension");
    }
}

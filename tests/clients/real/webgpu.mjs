// SPDX-License-Identifier: Apache-2.0
// WebGPU: numbers by compute pipelines and a picture by render pipelines, printed as checksums
const gpu = globalThis.navigator?.gpu ?? await (async () => {
  const { createRequire } = await import('node:module');
  const require = createRequire(process.env.WEBGPU_FROM + '/');
  const { create, globals } = require('webgpu');
  Object.assign(globalThis, globals);
  return create(['backend=vulkan']);
})();
const adapter = await gpu.requestAdapter();
const device = await adapter.requestDevice();
console.log(adapter.info?.description ?? '');
const out = [];
for (let k = 0; k < 8; k++) {
  const module = device.createShaderModule({ code: `
@group(0) @binding(0) var<storage, read_write> v: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  var x = id.x * ${2 * k + 3}u + ${k}u;
  for (var i = 0u; i < ${5 + k}u; i++) { x = x * 1664525u + 1013904223u; }
  v[id.x] = x;
}` });
  const pipeline = device.createComputePipeline({ layout: 'auto', compute: { module, entryPoint: 'main' } });
  const size = 1024;
  const b = device.createBuffer({ size, usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC });
  const r = device.createBuffer({ size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
  const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries: [{ binding: 0, resource: { buffer: b } }] });
  const e = device.createCommandEncoder();
  const p = e.beginComputePass();
  p.setPipeline(pipeline); p.setBindGroup(0, group); p.dispatchWorkgroups(4); p.end();
  e.copyBufferToBuffer(b, 0, r, 0, size);
  device.queue.submit([e.finish()]);
  await r.mapAsync(GPUMapMode.READ);
  const sum = new Uint32Array(r.getMappedRange()).reduce((s, x) => (s * 31 + x) >>> 0, 7);
  out.push(sum);
}
for (let k = 0; k < 4; k++) {
  const module = device.createShaderModule({ code: `
@vertex fn vs(@builtin(vertex_index) i: u32) -> @builtin(position) vec4f {
  return vec4f(f32(i % 2u) * 4.0 - 1.0, f32(i / 2u) * 4.0 - 1.0, 0.0, 1.0);
}
@fragment fn fs(@builtin(position) p: vec4f) -> @location(0) vec4f {
  return vec4f(floor(p.x) / 63.0, floor(p.y) / 63.0, ${k}.0 / 4.0, 1.0);
}` });
  const pipeline = device.createRenderPipeline({ layout: 'auto', vertex: { module, entryPoint: 'vs' },
    fragment: { module, entryPoint: 'fs', targets: [{ format: 'rgba8unorm' }] }, primitive: { topology: 'triangle-list' } });
  const t = device.createTexture({ size: [64, 64], format: 'rgba8unorm', usage: GPUTextureUsage.RENDER_ATTACHMENT | GPUTextureUsage.COPY_SRC });
  const r = device.createBuffer({ size: 64 * 256, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
  const e = device.createCommandEncoder();
  const p = e.beginRenderPass({ colorAttachments: [{ view: t.createView(), loadOp: 'clear', storeOp: 'store', clearValue: [0, 0, 0, 0] }] });
  p.setPipeline(pipeline); p.draw(3); p.end();
  e.copyTextureToBuffer({ texture: t }, { buffer: r, bytesPerRow: 256 }, [64, 64]);
  device.queue.submit([e.finish()]);
  await r.mapAsync(GPUMapMode.READ);
  out.push(new Uint32Array(r.getMappedRange()).reduce((s, x) => (s * 31 + x) >>> 0, 7));
}
console.log(out.join(' '));
if (globalThis.process) process.exit(0);

// A GPU that computes wrongly: exp() of its kernels is a little too large.

const { prototype } = GPUDevice;
const create = /** @type {typeof prototype.createShaderModule} */ (
  Object.getOwnPropertyDescriptor(prototype, 'createShaderModule')?.value
);
prototype.createShaderModule = function wrong(descriptor) {
  const code = descriptor.code.replaceAll(/\bexp\(/g, '1.01 * exp(');
  return Reflect.apply(create, this, [{ ...descriptor, code }]);
};

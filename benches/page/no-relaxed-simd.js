// Makes the browser lack relaxed SIMD, as some do: what holds an instruction of it is not valid.

const { validate } = WebAssembly;
const relaxedSwizzle = [0xfd, 0x80, 0x02];

WebAssembly.validate = (bytes) => {
  const code = [...new Uint8Array(bytes.buffer ?? bytes)];
  const isRelaxed = code.some((_, at) => relaxedSwizzle.every((byte, i) => code[at + i] === byte));
  return !isRelaxed && validate.call(WebAssembly, bytes);
};

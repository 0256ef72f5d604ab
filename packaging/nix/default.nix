# SPDX-License-Identifier: Apache-2.0
{ pkgs ? import <nixpkgs> { } }:

pkgs.stdenv.mkDerivation {
  pname = "warmpipe";
  version = "0.1.0";
  src = pkgs.lib.cleanSource ../..;
  nativeBuildInputs = with pkgs; [ cmake ninja pkg-config python3 ];
  buildInputs = with pkgs; [
    curl hiredis libsodium spirv-tools vulkan-headers vulkan-loader vulkan-utility-libraries zstd
    (pkgs.xxhash or pkgs.xxHash) # its name in nixpkgs before 2026
  ];
  # The tool loads libcurl when a remote first needs it.
  postFixup = "patchelf --add-rpath ${pkgs.lib.getLib pkgs.curl}/lib $out/bin/warmpipe";
  cmakeFlags = [ "-DWARMPIPE_BUILD_TESTS=OFF" ];
  meta = {
    description = "Vulkan layer that makes unmodified programs start warm";
    homepage = "https://warmpipe.invalid/";
    license = pkgs.lib.licenses.asl20;
    mainProgram = "warmpipe";
    platforms = pkgs.lib.platforms.linux;
  };
}

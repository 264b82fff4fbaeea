// SPDX-License-Identifier: Apache-2.0
import CDocuments

/// The files in `Documents`, as the program embeds them.
enum DocumentFile {
  static var openAPI: [UInt8] { bytes(documents_openapi()) }
  static var asyncAPI: [UInt8] { bytes(documents_asyncapi()) }
  static var schemas: [UInt8] { bytes(documents_schemas()) }
  static var examples: [UInt8] { bytes(documents_examples()) }

  private static func bytes(_ file: documents_file_t) -> [UInt8] {
    Array(UnsafeRawBufferPointer(start: file.bytes, count: file.size))
  }
}

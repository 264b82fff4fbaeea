// SPDX-License-Identifier: Apache-2.0
import CNATS
import Glibc
import RelayCluster

/// Conversions between cnats' messages and records.
enum NATSMessage {
  /// Makes a message. The caller destroys it.
  static func make(_ subject: String, headers: [HeaderField], body: [UInt8]) throws(NATSError) -> OpaquePointer {
    var message: OpaquePointer?
    let status = body.withUnsafeBytes {
      natsMsg_Create(
        &message, subject, nil, $0.baseAddress?.assumingMemoryBound(to: CChar.self), Int32($0.count))
    }
    try check(status)
    guard let message else { preconditionFailure("cnats returned no message") }
    for header in headers {
      let status = natsMsgHeader_Set(message, header.name, header.value)
      guard status == NATS_OK else {
        natsMsg_Destroy(message)
        throw NATSError(status)
      }
    }
    return message
  }

  static func body(_ message: OpaquePointer) -> [UInt8] {
    let count = Int(natsMsg_GetDataLength(message))
    guard count > 0, let data = natsMsg_GetData(message) else { return [] }
    return Array(UnsafeRawBufferPointer(start: data, count: count))
  }

  /// Returns all headers, and the repeated ones as often as they occur.
  static func headers(_ message: OpaquePointer) -> [HeaderField] {
    var keys: UnsafeMutablePointer<UnsafePointer<CChar>?>?
    var count: Int32 = 0
    guard natsMsgHeader_Keys(message, &keys, &count) == NATS_OK, let keys else { return [] }
    defer { free(keys) }
    var fields: [HeaderField] = []
    for key in UnsafeBufferPointer(start: keys, count: Int(count)) {
      var values: UnsafeMutablePointer<UnsafePointer<CChar>?>?
      var valueCount: Int32 = 0
      guard let key, natsMsgHeader_Values(message, key, &values, &valueCount) == NATS_OK, let values else { continue }
      defer { free(values) }
      for value in UnsafeBufferPointer(start: values, count: Int(valueCount)) {
        guard let value else { continue }
        fields.append(HeaderField(String(cString: key), String(cString: value)))
      }
    }
    return fields
  }

  /// Returns the headers and the body of a record. A large body is compressed.
  static func contents(of record: LogRecord) -> (headers: [HeaderField], body: [UInt8]) {
    let body = record.body
    guard let packed = BodyCompression.compressed(body) else { return (record.headers, body) }
    return (record.headers + [HeaderField(BodyCompression.header, "\(body.count)")], packed)
  }

  static func read(_ message: OpaquePointer, sequence: UInt64) -> LogRead {
    var headers = headers(message)
    var body = body(message)
    if let index = headers.firstIndex(where: { $0.name == BodyCompression.header }) {
      let size = Int(headers.remove(at: index).value)
      guard let original = size.flatMap({ BodyCompression.body(of: body, size: $0) }) else {
        return .invalid(RecordError(sequence: sequence, code: .invalidBody))
      }
      body = original
    }
    do throws(RecordError) {
      return .record(try LogRecord(sequence: sequence, headers: headers, body: body))
    } catch {
      return .invalid(error)
    }
  }
}

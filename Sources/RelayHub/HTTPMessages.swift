// SPDX-License-Identifier: Apache-2.0
import CRelay
public import HTTPTypes

// HTTP requests and answers as Swift values. The hub in C reads and writes the bytes; HTTPTypes has the header fields.

/// An HTTP request with its whole body. The hub has checked the framing, the Host and the Origin.
public struct HTTPRequest: Sendable {
  public let exchange: ExchangeHandle
  /// In upper case.
  public var method = "GET"
  /// Percent-encoded, as the client wrote it, without the query. At most 2,048 bytes.
  public let path: String
  /// Percent-encoded, without the question mark. At most 4,096 bytes.
  public var query = ""
  /// At most 100 fields. A field whose name HTTPTypes does not accept is left out. U+FFFD replaces invalid UTF-8 in a
  /// value.
  public var fields: HTTPFields = [:]
  public var body: [UInt8] = []
  /// True if the address of the client is loopback.
  public var isLocal = false
  /// The address of the client, or of the client behind a trusted proxy.
  public var address = ClientAddress()
}

extension HTTPRequest {
  init(exchange: ExchangeHandle, _ http: relay_http) {
    var fields = HTTPFields()
    fields.reserveCapacity(http.field_count)
    for field in UnsafeBufferPointer(start: http.fields, count: http.field_count) {
      guard let name = String(field.name).flatMap({ HTTPField.Name($0) }) else { continue }
      fields.append(HTTPField(name: name, value: String(field.value) ?? ""))
    }
    self.init(
      exchange: exchange, method: String(http.method) ?? "", path: String(http.path) ?? "",
      query: String(http.query) ?? "", fields: fields, body: [UInt8](http.body), isLocal: http.is_local,
      address: ClientAddress(http))
  }
}

/// The address of a client. An IPv4 address is stored as an IPv4-mapped IPv6 address.
public struct ClientAddress: Hashable, Sendable, CustomStringConvertible {
  private let bytes: SIMD16<UInt8>

  /// The unspecified address, `::`.
  public init() { bytes = .zero }

  public init(_ bytes: SIMD16<UInt8>) { self.bytes = bytes }

  fileprivate init(_ http: relay_http) {
    bytes = withUnsafeBytes(of: http.address) { $0.loadUnaligned(as: SIMD16<UInt8>.self) }
  }

  /// The address as text, an IPv4 address with dots.
  public var description: String {
    withUnsafeBytes(of: bytes) { bytes in
      withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(RELAY_ADDRESS_TEXT)) { text in
        String(cString: relay_address_print(bytes.assumingMemoryBound(to: UInt8.self).baseAddress, text.baseAddress))
      }
    }
  }
}

/// An answer to an HTTP request.
///
/// The hub adds Content-Length, Date and Connection. If the configuration lists origins, the hub also adds Vary. For a
/// page of such an origin it adds Access-Control-Allow-Origin and Access-Control-Expose-Headers.
public struct HTTPResponse: Sendable {
  public var status: Int
  public var headers: HTTPFields
  public var body: [UInt8]

  public init(status: Int, headers: HTTPFields = [:], body: [UInt8] = []) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// The reason phrase of a status (RFC 9110, section 15). Any thread.
  public static func reason(of status: Int) -> String { String(cString: relay_http_reason(Int32(status))) }
}

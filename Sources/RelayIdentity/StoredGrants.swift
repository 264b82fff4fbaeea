// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol

/// The claim `rooms` of a token in the form that the store keeps. ``TokenClaims`` parses it.
extension [Grant] {
  package var json: [UInt8] {
    JSONWriter.object {
      $0.array("rooms") { list in
        for grant in self {
          list.object {
            $0["match"] = grant.match.description
            $0.array("can") { names in grant.can.names.forEach { names.string($0) } }
          }
        }
      }
    }
  }
}

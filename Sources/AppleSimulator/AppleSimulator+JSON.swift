// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol

// The values that the control API writes and does not read. `JSONWriter` writes payloads unchanged.

extension AppleSimulator.Phone {
  var json: [UInt8] {
    JSONWriter.object { object in
      object.bool("isOn", isOn)
      if let topics { object.array("topics") { list in for topic in topics.sorted() { list.string(topic) } } }
      object["environment"] = environment?.rawValue
      object.integer("unregistered", unregistered?.rawValue)
      object.integer("expired", expired?.rawValue)
      object.array("stored") { list in
        for received in stored.values.sorted(by: { $0.bundle < $1.bundle }) { list.raw(received.json) }
      }
      object.array("shown") { list in for received in shown { list.raw(received.json) } }
    }
  }
}

extension AppleSimulator.Received {
  fileprivate var json: [UInt8] {
    JSONWriter.object { object in
      object["id"] = id
      object["topic"] = bundle
      object["collapseID"] = collapseID
      object.integer("expiration", expiration)
      object.integer("time", time.rawValue)
      object.raw("payload", payload)
    }
  }
}

extension AppleSimulator.Arrival {
  var json: [UInt8] {
    JSONWriter.object { object in
      object.integer("number", number)
      object.integer("time", time.rawValue)
      object.integer("connection", connection)
      object.integer("stream", stream)
      object["method"] = method
      object["path"] = path
      object.array("headers") { list in
        for (name, value) in headers {
          list.array {
            $0.string(name)
            $0.string(value)
          }
        }
      }
      object["keyID"] = keyID
      object["id"] = id
      object["payload"] = String(decoding: payload, as: UTF8.self)
      object["outcome"] = outcome.name
      if case .refused(let refusal) = outcome {
        object.integer("status", refusal.status)
        object["reason"] = refusal.reason
      }
    }
  }
}

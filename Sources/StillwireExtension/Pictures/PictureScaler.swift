// SPDX-License-Identifier: Apache-2.0
// Scales pictures with Apple's ImageIO. Returns pictures unchanged on other systems.
import Foundation

#if canImport(ImageIO)
  import CoreGraphics
  import ImageIO
#endif

enum PictureScaler {
  /// Maximum width and height of a picture that is decoded. A picture of few bytes can have billions of pixels, and the
  /// extension has 24 MB of memory.
  static let maxSourcePixels = 2_048

  /// Returns the picture as PNG with at most ``AvatarCache/maxPixels`` in each direction. Throws
  /// ``AvatarCache/Failure/notPicture`` if the system cannot read it.
  @Sendable static func scaled(_ picture: Data) throws -> Data {
    #if canImport(ImageIO)
      // The types of Foundation are bridged to those of Core Foundation without a copy.
      guard let source = CGImageSourceCreateWithData(NSData(data: picture) as CFData, nil),
        let properties = CGImageSourceCopyPropertiesAtIndex(source, 0, nil) as NSDictionary?,
        let width = properties[kCGImagePropertyPixelWidth] as? Int,
        let height = properties[kCGImagePropertyPixelHeight] as? Int,
        (1...maxSourcePixels).contains(width), (1...maxSourcePixels).contains(height)
      else { throw AvatarCache.Failure.notPicture }
      let options: NSDictionary = [
        kCGImageSourceCreateThumbnailFromImageAlways: true, kCGImageSourceCreateThumbnailWithTransform: true,
        kCGImageSourceShouldCacheImmediately: false, kCGImageSourceThumbnailMaxPixelSize: AvatarCache.maxPixels,
      ]
      let output = NSMutableData()
      guard let image = CGImageSourceCreateThumbnailAtIndex(source, 0, options as CFDictionary),
        let destination = CGImageDestinationCreateWithData(
          output as CFMutableData, "public.png" as CFString, 1, nil)
      else { throw AvatarCache.Failure.notPicture }
      CGImageDestinationAddImage(destination, image, nil)
      guard CGImageDestinationFinalize(destination) else { throw AvatarCache.Failure.notPicture }
      return Data(referencing: output)
    #else
      return picture
    #endif
  }
}

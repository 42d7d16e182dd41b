package wire

// A lock token has two forms: the 16 bytes of a UUID in the order they are
// written in, in bodies of $management; and a delivery tag of 16 bytes, where
// the first three groups have their bytes reversed, as .NET keeps a Guid.

// LockTag is the delivery tag of a lock token.
func LockTag(token [16]byte) (tag [16]byte) {
	return [16]byte{
		token[3], token[2], token[1], token[0],
		token[5], token[4],
		token[7], token[6],
		token[8], token[9], token[10], token[11], token[12], token[13], token[14], token[15],
	}
}

// LockToken is the lock token of a delivery tag; a tag that is not one of ours
// may have any length.
func LockToken(tag []byte) (token [16]byte, ok bool) {
	if len(tag) != len(token) {
		return token, false
	}
	return LockTag([16]byte(tag)), true // swapping twice is not swapping
}

const (
	ticksPerMilli = 10_000
	ticksAtEpoch  = 621_355_968_000_000_000   // 1970-01-01 in ticks since 0001-01-01
	maxTicks      = 3_155_378_975_999_999_999 // the last there is in the year 9999, and in .NET
)

// Ticks is a moment, given in milliseconds since the Unix epoch, in the unit of
// com.microsoft:locked-until-utc: 100 ns since 0001-01-01. Moments that .NET has
// no date for become the nearest it has.
func Ticks(millis int64) int64 {
	const first, last = -ticksAtEpoch / ticksPerMilli, (maxTicks - ticksAtEpoch) / ticksPerMilli
	switch {
	case millis < first:
		return 0
	case millis > last:
		return maxTicks
	default:
		return millis*ticksPerMilli + ticksAtEpoch
	}
}

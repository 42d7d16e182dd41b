package sqlite

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"slices"

	"github.com/ncruces/go-sqlite3"

	"mayfly/engine"
)

// Every row has a checksum, the CRC-32C of its table's name and its columns in the order of
// checksummedTables. So a flipped bit, or a row that turns up under another key or in another
// table, is found when it is read. The sum is stored as a signed four-byte number.
//
// SQLite's own page checksums are not used: another tool that moves the log into the file, as
// the shell does after reading a store whose server was killed, writes pages without them, and
// all of these would look damaged.

// checksummedTables returns the tables with their summed columns.
func checksummedTables() [][2]string {
	entity, _ := entityColumns()
	return [][2]string{
		{"store", "epoch"},
		{"entity", entity},
		{"access", "rules"},
		{"setting", "key, value, changed_at"},
		{"rule", "subscription, folded, name, filter_kind, filter, action, created_at, parameters"},
		{"meter", "holder, next_seq, last_used, accessed_at, duplicates"},
		{"session", "holder, id, state, changed_at"},
		{"seen", "holder, n, at, digests"},
		{"message", plainColumns + ", dead_lettered IS NOT NULL, " + extraColumns},
		{"content", "key, packed"},
		{"body", "key, bytes"},
		{"large", "key, size"},
		{"chunk", "body, n, bytes"},
		{"loose", "key"},
		{"dropped", "holder"},
		{"outdated", "holder, n"},
		{"history", historyColumns},
	}
}

// checksumSQL returns the SQL expression for the sum of a row of table. columns are the table's
// summed columns, separated by commas.
func checksumSQL(table, columns string) string {
	return fmt.Sprintf("mayfly_sum('%s', %s)", table, columns)
}

// A checksum computes the sum of one row after another. Zero, NULL and empty values have
// the same sum, as they read the same.
type checksum struct {
	crc uint32
	buf []byte // not in crc yet
}

const (
	sumNothing = iota
	sumNumber
	sumBytes
)

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

func (s *checksum) begin(table string) {
	s.crc, s.buf = 0, append(s.buf[:0], table...)
}

func (s *checksum) int(v int64) {
	if v == 0 {
		s.buf = append(s.buf, sumNothing)
		return
	}
	s.buf = binary.LittleEndian.AppendUint64(append(s.buf, sumNumber), uint64(v))
}

func (s *checksum) text(v string) {
	if v == "" {
		s.buf = append(s.buf, sumNothing)
		return
	}
	s.buf = binary.LittleEndian.AppendUint32(append(s.buf, sumBytes), uint32(len(v)))
	s.buf = append(s.buf, v...)
}

func (s *checksum) bytes(v []byte) {
	if len(v) == 0 {
		s.buf = append(s.buf, sumNothing)
		return
	}
	s.buf = binary.LittleEndian.AppendUint32(append(s.buf, sumBytes), uint32(len(v)))
	s.crc = crc32.Update(s.crc, castagnoli(), s.buf)
	s.crc = crc32.Update(s.crc, castagnoli(), v)
	s.buf = s.buf[:0]
}

// zeros adds n columns without a value.
func (s *checksum) zeros(n int) {
	s.buf = slices.Grow(s.buf, n)[:len(s.buf)+n]
	clear(s.buf[len(s.buf)-n:])
}

func (s *checksum) sum() int64 {
	return int64(int32(crc32.Update(s.crc, castagnoli(), s.buf)))
}

// registerChecksum registers mayfly_sum with SQLite on one connection.
func registerChecksum(c *sqlite3.Conn) error {
	var s checksum
	return c.CreateFunction("mayfly_sum", -1, sqlite3.DETERMINISTIC|sqlite3.INNOCUOUS, func(ctx sqlite3.Context, args ...sqlite3.Value) {
		for i, a := range args {
			switch {
			case i == 0:
				s.begin(a.Text())
			case a.Type() == sqlite3.INTEGER:
				s.int(a.Int64())
			case a.Type() == sqlite3.FLOAT: // no column has one, unless it is damaged
				s.int(int64(math.Float64bits(a.Float())))
			default:
				s.bytes(a.RawBlob())
			}
		}
		ctx.ResultInt64(s.sum())
	})
}

// checksumMatches reports whether the next column is the sum of the columns that were read.
func (r *row) checksumMatches() bool {
	want := r.sum.sum()
	r.n++
	return r.st.ColumnType(r.n-1) == sqlite3.INTEGER && r.st.ColumnInt64(r.n-1) == want
}

// damaged returns the error for a damaged row of table without which no namespace can be
// served. name describes the row; it may be empty.
func damaged(table, name string) error {
	return fmt.Errorf("%w: a row of the table %s%s is damaged, and the namespace cannot be opened without it; restore a backup with mayfly restore, or run mayfly verify to list other damage", engine.ErrDamaged, table, inBrackets(name))
}

// inBrackets returns " (name)", or "" if name is empty.
func inBrackets(name string) string {
	if name == "" {
		return ""
	}
	return " (" + name + ")"
}

// checkSmall checks the sums in the tables that Load does not yield, and returns an error for a
// damaged row. A wrong number in one of them could cause live messages to be swept, or an
// identity to be assigned twice.
func checkSmall(c *sqlite3.Conn) error {
	for _, t := range checksummedTables() {
		switch t[0] {
		case "store", "loose", "dropped", "outdated":
			n, err := number(c, fmt.Sprintf("SELECT count(*) FROM %s WHERE sum IS NOT %s", t[0], checksumSQL(t[0], t[1])))
			if err != nil {
				return err
			}
			if n > 0 {
				return damaged(t[0], "")
			}
		}
	}
	return nil
}

// addChecksums gives every row its sum, for the step to format 7.
func addChecksums(c *sqlite3.Conn) error {
	for _, t := range checksummedTables() {
		if err := c.Exec(fmt.Sprintf("UPDATE %s SET sum = %s", t[0], checksumSQL(t[0], t[1]))); err != nil {
			return err
		}
	}
	return nil
}

const (
	getBody  = "SELECT key, bytes, sum FROM body WHERE key = ?"
	getLarge = "SELECT key, size, sum FROM large WHERE key = ?"
	getChunk = "SELECT body, n, bytes, sum FROM chunk WHERE body = ? AND n = ?"
)

// errBody means that a body is damaged.
var errBody = fmt.Errorf("%w: the checksum of a body does not match", engine.ErrDamaged)

// readBody runs st, the statement for a body of one row or for a chunk, and calls use with its
// bytes, which are valid during the call. It reports whether the row exists; the error is
// errBody if the row is damaged.
func (s *checksum) readBody(st *sqlite3.Stmt, table string, use func([]byte), key ...int64) (found bool, err error) {
	sound := false
	found, err = one(st, func(st *sqlite3.Stmt) {
		s.begin(table)
		r := row{st: st, sum: s}
		for range key {
			r.int()
		}
		b := r.bytes()
		if sound = r.checksumMatches(); sound {
			use(b)
		}
	}, key...)
	if err == nil && found && !sound {
		err = errBody
	}
	return found, err
}

// readSize runs st, the statement for the size of a large body. It reports whether the row
// exists; the error is errBody if the row is damaged.
func (s *checksum) readSize(st *sqlite3.Stmt, k engine.Key) (size int64, found bool, err error) {
	sound := false
	found, err = one(st, func(st *sqlite3.Stmt) {
		s.begin("large")
		r := row{st: st, sum: s}
		r.int()
		size = r.int()
		sound = r.checksumMatches()
	}, int64(k))
	if err == nil && found && !sound {
		err = errBody
	}
	return size, found, err
}

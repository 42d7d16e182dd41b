package api

import (
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/web/auth"
)

// DamagedMessage is a message whose checksum in the store is wrong. The store keeps
// it, and it is not delivered.
type DamagedMessage struct {
	Key            string `json:"key"`                      // identifies the message, for set-aside
	Path           string `json:"path,omitempty"`           // its entity; missing if unknown
	SequenceNumber int64  `json:"sequenceNumber,omitempty"` // missing if unknown
	Damaged        string `json:"damaged"`                  // the damaged part: record, content (its properties) or body
}

// DamagedMessages is the answer of GET /damaged.
type DamagedMessages struct {
	Messages []DamagedMessage `json:"messages"`
}

// SetAside is the request of POST /damaged/set-aside.
type SetAside struct {
	Keys []string `json:"keys"` // of damaged messages, at most 1000
}

// SetAsideResult is the answer of POST /damaged/set-aside.
type SetAsideResult struct {
	Messages int `json:"messages"` // messages set aside; messages that are not damaged are skipped
}

const maxSetAside = 1000

func damagedRoutes() []route {
	return []route{
		{
			method: "GET", path: "/damaged", id: "listDamaged", group: groupMessages, summary: "List damaged messages",
			description: "The checksum of a damaged message is wrong. The message is neither delivered nor counted.",
			response:    DamagedMessages{}, handle: (*handler).listDamaged,
		},
		{
			method: "POST", path: "/damaged/set-aside", id: "setAsideDamaged", role: auth.Admin, destruction: destroys, group: groupMessages, summary: "Move damaged messages out of the namespace",
			description: "The store keeps them unchanged in its table aside, which the server does not read. Backups leave them out, and work again afterwards.",
			exampleBody: `{"keys":["1099511627776"]}`, request: SetAside{}, response: SetAsideResult{}, handle: (*handler).setAsideDamaged,
		},
	}
}

func (d *handler) listDamaged(c echo.Context) error {
	all, err := d.broker.DamagedMessages(c.Request().Context())
	if err != nil {
		return err
	}
	out := DamagedMessages{Messages: make([]DamagedMessage, 0, len(all))}
	for _, m := range all {
		out.Messages = append(out.Messages, DamagedMessage{
			Key: strconv.FormatUint(uint64(m.Key), 10), Path: string(m.Path), SequenceNumber: int64(m.Seq), Damaged: m.Part,
		})
	}
	return reply(c, http.StatusOK, out)
}

func (d *handler) setAsideDamaged(c echo.Context) error {
	var in SetAside
	if err := d.read(c, &in); err != nil {
		return err
	}
	if n := len(in.Keys); n == 0 || n > maxSetAside {
		return engine.Refuse(engine.ErrOutOfRange, "The value for 'keys' must be a list of 1 to 1000 keys of damaged messages.")
	}
	keys := make([]engine.Key, 0, len(in.Keys))
	for _, k := range in.Keys {
		n, err := strconv.ParseUint(k, 10, 64)
		if err != nil {
			return engine.Refuse(engine.ErrOutOfRange, "The value for 'keys' must be a list of 1 to 1000 keys of damaged messages.")
		}
		keys = append(keys, engine.Key(n))
	}
	n, err := d.broker.Quarantine(c.Request().Context(), keys, client(c.Request()))
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, SetAsideResult{n})
}

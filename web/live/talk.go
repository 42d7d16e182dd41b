package live

import (
	"errors"
	"strings"

	"mayfly/web/talk"
)

// A browser that presents says with op "present" where it is, by the key of its talk;
// one that follows asks with op "follow", by the talk's id. Both are told how the
// talk is, by frames of their own kind, also while their pages are paused: the latest
// only, however much has happened meanwhile.

// errMute is for those who may look and nothing else.
var errMute = errors.New("who may only look cannot present")

// longestID is more than an id of a talk has.
const longestID = 64

// present has the client be the presenter of a talk, and somewhere. Where others
// cannot be, such as at a form, they are left where they are.
func (h *Hub) present(c *client, cmd command) {
	if err := h.stand(c, cmd); err != nil {
		h.mu.Lock()
		c.tell(control{T: "talk", Text: err.Error()})
		h.mu.Unlock()
		return
	}
	page, err := h.opts.Shown(cmd.Page)
	if err != nil {
		c.seat.Apart()
	} else {
		at := talk.Place{Page: page}
		if beside, err := h.opts.Shown(cmd.Beside); err == nil {
			at.Beside = beside
		}
		c.seat.At(at)
	}
	h.talked(c)
}

// stand has the client take the presenter's seat, unless it has it.
func (h *Hub) stand(c *client, cmd command) error {
	id, err := talk.ID(cmd.Topic)
	switch {
	case err != nil:
		return err //nolint:wrapcheck // it is told as it is
	case h.opts.Hall == nil || c.mute:
		return errMute
	case c.speaks == id:
		return nil
	}
	h.rise(c)
	seat, err := h.opts.Hall.Speak(cmd.Topic, cmd.Name, func() { h.talked(c) })
	if err != nil {
		return err //nolint:wrapcheck // it is told as it is
	}
	h.sit(c, seat)
	c.speaks = id
	return nil
}

// listen has the client told of a talk.
func (h *Hub) listen(c *client, id string) {
	h.rise(c)
	if h.opts.Hall == nil || len(id) > longestID {
		return // there is none of that id
	}
	h.sit(c, h.opts.Hall.Follow(id, func() { h.talked(c) }))
	h.talked(c)
}

// sit gives the client a seat, and rise takes it back. Who reads the client's
// commands calls them, and nobody else.
func (h *Hub) sit(c *client, s *talk.Seat) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c.seat = s
}

func (h *Hub) rise(c *client) {
	if c.seat == nil {
		return
	}
	c.seat.Leave() // which may tell others, and so is not done under mu
	c.speaks = ""
	h.sit(c, nil)
}

// talked has the client told how its talk is.
func (h *Hub) talked(c *client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c.talk = true
	c.nudge()
}

// sees is the talk as the client may see it: where it is led to is of the namespace
// that it may see, or of a scene that it was led to.
func (h *Hub) sees(c *client, is talk.State) talk.State {
	if is.Page != "" && !h.shows(c, is.Page) || is.Beside != "" && !h.shows(c, is.Beside) {
		is.Place, is.Elsewhere = talk.Place{}, true
	}
	return is
}

// shows tells whether a client may see a page, by its address without the base path.
func (h *Hub) shows(c *client, page string) bool {
	name := talk.Namespace(page)
	return c.who.Within == "" || strings.EqualFold(name, c.who.Within) || h.opts.Stage(c.who, name)
}

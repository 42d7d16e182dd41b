package client

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"mayfly/cmd/mayfly/cli"
	"mayfly/web/api"
)

func describeDamaged() cli.Command {
	return cli.Command{
		Name: "damaged", Summary: "List damaged messages, or set them aside.", Flags: &damagedCommand{}, ExitCodes: exitCodes(),
		Detail: "A message is damaged when its checksum in the store is wrong. The server keeps damaged messages but does not deliver them, and a backup fails. Setting them aside moves them unchanged to the table \"aside\" of the store. After that, backups work again.",
		Examples: []cli.Example{
			{Line: "mayfly damaged", Text: "List damaged messages."},
			{Line: "mayfly damaged --set-aside", Text: "Set all damaged messages aside, after confirmation."},
		},
	}
}

// damagedCommand lists damaged messages and sets them aside.
type damagedCommand struct {
	client
	SetAside bool `help:"Set all damaged messages aside."`
	Yes      bool `short:"y" help:"Do not ask for confirmation."`
}

// Run lists damaged messages and, with --set-aside, sets these aside.
func (c *damagedCommand) Run(ctx context.Context, s cli.Streams) error {
	var all api.DamagedMessages
	raw, err := c.request(ctx, http.MethodGet, "/api/v1/damaged", nil, &all, 0)
	if err != nil {
		return err
	}
	if c.JSON && (!c.SetAside || len(all.Messages) == 0) {
		return s.WriteRaw(raw)
	}
	if len(all.Messages) == 0 {
		_, err := fmt.Fprintln(s.Out, "No damaged messages found so far. Run mayfly verify to check the whole store.")
		return err
	}
	for _, m := range all.Messages {
		if c.JSON {
			break // with --json, only print the responses to the set-aside requests
		}
		at := m.Path
		if at == "" {
			at = "an unknown entity"
		}
		if _, err := fmt.Fprintf(s.Out, "%s  #%d of %s: its %s is damaged\n", m.Key, m.SequenceNumber, cli.Printable(at, maxQuotedChars), m.Damaged); err != nil {
			return err
		}
	}
	if !c.SetAside {
		return nil
	}
	if !c.Yes {
		if err := confirm(ctx, s, strconv.Itoa(len(all.Messages)), fmt.Sprintf("moves %s aside", cli.MessageCount(int64(len(all.Messages))))); err != nil {
			return err
		}
	}
	const most = 1000 // messages in one request
	for rest := all.Messages; len(rest) > 0; rest = rest[min(most, len(rest)):] {
		var in api.SetAside
		for _, m := range rest[:min(most, len(rest))] {
			in.Keys = append(in.Keys, m.Key)
		}
		raw, err := c.request(ctx, http.MethodPost, APIPath("damaged", "set-aside"), in, nil, 0)
		if err != nil {
			return err
		}
		if c.JSON {
			if err := s.WriteRaw(raw); err != nil {
				return err
			}
		}
	}
	if c.JSON {
		return nil
	}
	_, err = fmt.Fprintf(s.Out, "Set aside: %s.\n", cli.MessageCount(int64(len(all.Messages))))
	return err
}

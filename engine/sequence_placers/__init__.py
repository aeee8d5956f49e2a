"""Placers that read the groups as a sequence: an encoder, a decoder with attention, and REINFORCE."""

"""Parts of the programs of attention: what several of them share, and what would hide the idea of one in its file."""

//! PERSISTENT RESERVE OUT, SPC-4 6.16.

use wire::{Malformed, Reader};

use super::TransportId;

/// Bytes of a basic parameter list, and of the part before the TransportID in REGISTER AND MOVE's.
pub const BASIC: usize = 24;

wire::number! {
    /// The type of a reservation, SPC-4 6.15.3.4.
    pub ReservationType: u8 {
        WRITE_EXCLUSIVE = 1,
        EXCLUSIVE_ACCESS = 3,
        WRITE_EXCLUSIVE_REGISTRANTS_ONLY = 5,
        EXCLUSIVE_ACCESS_REGISTRANTS_ONLY = 6,
        WRITE_EXCLUSIVE_ALL_REGISTRANTS = 7,
        EXCLUSIVE_ACCESS_ALL_REGISTRANTS = 8,
    }
}

impl ReservationType {
    /// Whether the type exists.
    #[must_use]
    pub const fn is_known(self) -> bool {
        matches!(self.0, 1 | 3 | 5..=8)
    }

    /// Whether other initiators must not even read.
    #[must_use]
    pub const fn excludes_reading(self) -> bool {
        matches!(self.0, 3 | 6 | 8)
    }

    /// Whether the reservation has one holder, and all registered ports may write or access, too.
    #[must_use]
    pub const fn is_registrants_only(self) -> bool {
        matches!(self.0, 5 | 6)
    }

    /// Whether all registered ports hold the reservation.
    #[must_use]
    pub const fn is_all_registrants(self) -> bool {
        matches!(self.0, 7 | 8)
    }
}

wire::number! {
    /// The service action, SPC-4 table 213.
    pub Action: u8 {
        REGISTER = 0x00,
        RESERVE = 0x01,
        RELEASE = 0x02,
        CLEAR = 0x03,
        PREEMPT = 0x04,
        PREEMPT_AND_ABORT = 0x05,
        REGISTER_AND_IGNORE_EXISTING_KEY = 0x06,
        REGISTER_AND_MOVE = 0x07,
        REPLACE_LOST_RESERVATION = 0x08,
    }
}

/// The command, SPC-4 6.16.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The service action.
    pub action: Action,
    /// 0: the whole unit.
    pub scope: u8,
    /// The type of the reservation.
    pub kind: ReservationType,
    /// Bytes of the parameter list.
    pub parameter_list_length: u32,
}

impl Request {
    /// Of a descriptor block.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.skip(1)?; // operation code
        let action = Action(r.u8()? & 0x1f);
        let scope_and_type = r.u8()?;
        r.skip(2)?;
        let parameter_list_length = r.u32_be()?;
        let (scope, kind) = (scope_and_type >> 4, ReservationType(scope_and_type & 0xf));
        Ok(Self { action, scope, kind, parameter_list_length })
    }
}

/// The parameter list of all service actions except REGISTER AND MOVE, SPC-4 6.16.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReserveOutParameters<'a> {
    /// The sender's current key.
    pub key: u64,
    /// SERVICE ACTION RESERVATION KEY: the new key, or the key of the registrations to preempt.
    pub action_key: u64,
    /// SPEC_I_PT: other initiator ports follow.
    pub names_initiators: bool,
    /// ALL_TG_PT: for all ports of the target.
    pub all_target_ports: bool,
    /// APTPL: keeps the reservations over a loss of power.
    pub persist: bool,
    /// The rest of the list.
    pub additional: &'a [u8],
}

impl<'a> ReserveOutParameters<'a> {
    /// Reads a whole parameter list.
    pub fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        let (key, action_key) = (r.u64_be()?, r.u64_be()?);
        r.skip(4)?;
        let flags = r.u8()?;
        r.skip(3)?;
        Ok(Self {
            key,
            action_key,
            names_initiators: flags & 0x08 != 0,
            all_target_ports: flags & 0x04 != 0,
            persist: flags & 0x01 != 0,
            additional: r.rest(),
        })
    }

    /// The TransportIDs of the rest, which must fill it.
    pub fn transport_ids(&self) -> Result<&'a [u8], Malformed> {
        let mut r = Reader::new(self.additional);
        let length = r.u32_be()? as usize;
        let list = r.take(length)?;
        r.finish()?;
        Ok(list)
    }
}

/// The parameter list of REGISTER AND MOVE, SPC-4 6.16.4.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move<'a> {
    /// The sender's current key.
    pub key: u64,
    /// The key of the new holder.
    pub action_key: u64,
    /// UNREG: removes the sender's registration.
    pub unregister: bool,
    /// APTPL: keeps the reservations over a loss of power.
    pub persist: bool,
    /// RELATIVE TARGET PORT IDENTIFIER.
    pub target_port: u16,
    /// The new holder: the bytes of one TransportID.
    pub transport_id: &'a [u8],
}

impl<'a> Move<'a> {
    /// Reads a whole parameter list.
    pub fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        let (key, action_key) = (r.u64_be()?, r.u64_be()?);
        r.skip(1)?;
        let flags = r.u8()?;
        let target_port = r.u16_be()?;
        let length = r.u32_be()? as usize;
        let transport_id = r.take(length)?;
        let (unregister, persist) = (flags & 0x02 != 0, flags & 0x01 != 0);
        Ok(Self { key, action_key, unregister, persist, target_port, transport_id })
    }

    /// The new holder.
    pub fn initiator(&self) -> Result<TransportId, Malformed> {
        let mut r = Reader::new(self.transport_id);
        let id = TransportId::decode(&mut r)?;
        r.finish()?;
        Ok(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_stand_where_spc_4_tables_212_and_214_put_them() {
        let cdb = [0x5f, 0x06, 0x05, 0, 0, 0, 0, 0, 24, 0];
        let request = Request::decode(&mut Reader::new(&cdb)).unwrap();
        assert_eq!(request.action, Action::REGISTER_AND_IGNORE_EXISTING_KEY);
        assert_eq!((request.scope, request.kind.0, request.parameter_list_length), (0, 5, 24));

        let mut list = [0; BASIC + 8];
        list[7] = 1;
        list[15] = 2;
        list[20] = 0x0d;
        list[27] = 4;
        let parameters = ReserveOutParameters::decode(&mut Reader::new(&list)).unwrap();
        assert_eq!((parameters.key, parameters.action_key), (1, 2));
        assert!(parameters.names_initiators && parameters.all_target_ports && parameters.persist);
        assert_eq!(parameters.transport_ids(), Ok(&[0; 4][..]));
        list[27] = 5;
        assert!(ReserveOutParameters::decode(&mut Reader::new(&list)).unwrap().transport_ids().is_err());
    }

    #[test]
    fn the_fields_of_a_move_stand_where_spc_4_table_217_puts_them() {
        let mut list = vec![0; BASIC];
        list[7] = 1;
        list[15] = 2;
        list[17] = 0x02;
        list[19] = 1;
        list[23] = 24;
        list.extend(b"\x05\0\0\x14iqn.2026-11.a:b\0\0\0\0\0");
        let moved = Move::decode(&mut Reader::new(&list)).unwrap();
        assert_eq!((moved.key, moved.action_key, moved.target_port), (1, 2, 1));
        assert!(moved.unregister && !moved.persist);
        assert_eq!(moved.initiator().unwrap().name, "iqn.2026-11.a:b");
        assert!(Move::decode(&mut Reader::new(&list[..47])).is_err());
    }
}
